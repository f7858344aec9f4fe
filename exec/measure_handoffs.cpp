#include "exec/measure_handoffs.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/graph_builder.h"
#include "core/recorder.h"
#include "exec/session.h"

namespace lanescope::exec {
namespace {

constexpr int kHops = 10;
constexpr int kWarmupSteps = 2;
constexpr int kSteps = 10;
constexpr int64_t kElements = 1 << 18;  // long enough that whoever waits sleeps, and its core too

class EventList : public EventSink {
 public:
  void Consume(std::span<const Event> batch) override {
    events.insert(events.end(), batch.begin(), batch.end());
  }
  void CountDropped(int64_t) override {}
  std::vector<Event> events;
};

// The chain, with the device of every node by number.
struct Chain {
  GraphBuilder builder;
  Placement placement;
  std::string last_copied, last_waiting;

  Chain(int host, int first, int second) {
    const auto on = [&](Endpoint node, int device) {
      placement.device.resize(static_cast<size_t>(builder.graph().num_nodes()), host);
      placement.device[static_cast<size_t>(node.node)] = device;
      return node;
    };
    const Endpoint x = on(builder.Placeholder("x", DataType::kFloat, Shape({kElements})), host);
    const Endpoint own[] = {on(builder.Op("Tanh", "own0").Input(x).Build(), first),
                            on(builder.Op("Tanh", "own1").Input(x).Build(), second)};
    Endpoint at = own[0];
    for (int hop = 0; hop < kHops; ++hop) {
      last_copied = fmt::format("copied{}", hop);
      at = on(builder.Op("Tanh", last_copied).Input(at).Build(), hop % 2 == 0 ? second : first);
    }
    for (int hop = 0; hop < kHops; ++hop) {
      last_waiting = fmt::format("waiting{}", hop);
      const int turn = (hop + 1) % 2;
      at = on(builder.Op("Tanh", last_waiting).Input(own[turn]).ControlInput(at).Build(),
              turn == 0 ? first : second);
    }
  }
};

}  // namespace

HandoffRun MeasureHandoffs(const Machine& machine, const std::atomic<bool>* cancelled) {
  std::vector<int> gpus;
  for (const int gpu : machine.Gpus()) {
    if (machine.device(gpu).kind == DeviceKind::kVirtual) gpus.push_back(gpu);
  }
  if (gpus.size() < 2) return {};
  const Chain chain(machine.host(), gpus[0], gpus[1]);
  EventList list;
  Session session(chain.builder.graph(), chain.placement, machine);
  RunRequest request;
  request.feeds["x"] = Tensor(DataType::kFloat, Shape({kElements}));
  request.targets = {chain.last_copied, chain.last_waiting};
  PreparedStep& step = session.Prepare(request);
  const auto run = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      if (cancelled != nullptr && cancelled->load()) Throw(Code::kCancelled, "interrupted");
      session.Run(step, request.feeds);
    }
  };
  run(kWarmupSteps);
  {
    Recorder recorder(&list);
    session.Record(&recorder, &step, 0);
    run(kSteps);
    recorder.Flush();
    session.Record(nullptr, nullptr, 0);
  }
  return {step.schedule, std::move(list.events)};
}

}  // namespace lanescope::exec
