#include "study/measure_handoffs.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/graph/graph_builder.h"
#include "study/recorded_run.h"

namespace lanescope::study {
namespace {

constexpr int kHops = 10;
constexpr int kWarmupSteps = 2;
constexpr int kSteps = 10;
constexpr int64_t kElements = 1 << 18;  // long enough that whoever waits sleeps, and its core too

// The chain, with the device of every node by number.
struct Chain {
  GraphBuilder builder;
  Placement placement;
  RunSpec step;

  Chain(DeviceId host, DeviceId first, DeviceId second) {
    const auto on = [&](Endpoint node, DeviceId device) {
      placement.device.resize(static_cast<size_t>(builder.graph().num_nodes()), host);
      placement.device[static_cast<size_t>(node.node)] = device;
      return node;
    };
    const Endpoint x = on(builder.Placeholder("x", DataType::kFloat, Shape({kElements})), host);
    FeedSpec& feed = step.feeds["x"];
    feed.shape = Shape({kElements});
    feed.values = Tensor(DataType::kFloat, feed.shape);
    const Endpoint own[] = {on(builder.Op("Tanh", "own0").Input(x).Build(), first),
                            on(builder.Op("Tanh", "own1").Input(x).Build(), second)};
    std::string last_copied, last_waiting;
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
    step.targets = {last_copied, last_waiting};
  }
};

}  // namespace

HandoffRun MeasureHandoffs(const Machine& machine, Cancellation* cancellation) {
  std::vector<DeviceId> gpus;
  for (const DeviceId gpu : machine.Gpus()) {
    if (machine.device(gpu).kind == DeviceKind::kVirtual) gpus.push_back(gpu);
  }
  if (gpus.size() < 2) return {};
  Chain chain(machine.host(), gpus[0], gpus[1]);
  const Workload workload("hand-offs", chain.builder.Take(), std::move(chain.step));
  RecordedRunOptions options;
  options.keep_events = true;
  options.cancellation = cancellation;
  RecordedRun run({&workload, "alternating", std::move(chain.placement)}, machine, nullptr, options);
  run.RunToEnd(kWarmupSteps, kSteps);
  return {run.schedule(), run.events()};
}

}  // namespace lanescope::study
