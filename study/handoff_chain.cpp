#include "study/handoff_chain.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "core/graph/graph_builder.h"
#include "study/recorded_run.h"

namespace lanescope::study {
namespace {

constexpr int kHops = 10;
constexpr int kStepsAtOnce = 4;
constexpr int kTimesAlone = 4;
constexpr int64_t kElements = 1 << 18;  // long enough that whoever waits sleeps, and its core too

// The chain, with the device of every node by number.
struct Chain {
  GraphBuilder builder;
  Placement placement;
  RunSpec step;

  Chain(DeviceId host, DeviceId first, DeviceId second) {
    const auto on = [&](Endpoint node, DeviceId device) {
      placement.device.resize(builder.graph().num_nodes(), host);
      placement.device[node.node] = device;
      return node;
    };
    const Endpoint x = on(builder.Placeholder("x", DataType::kFloat, Shape({kElements})), host);
    FeedSpec& feed = step.feeds["x"];
    feed.shape = Shape({kElements});
    feed.values = Tensor(DataType::kFloat, feed.shape);
    const Endpoint own[] = {on(builder.Op("Tanh", "own0").Input(x).Build(), first),
                            on(builder.Op("Tanh", "own1").Input(x).Build(), second)};
    const Endpoint axis =
        on(builder.Const("axis", Tensor::FromValues(Shape{}, std::vector<int32_t>{0})), host);
    Endpoint at = own[0];
    for (int hop = 0; hop < kHops; ++hop) {
      const DeviceId from = hop % 2 == 0 ? first : second, to = hop % 2 == 0 ? second : first;
      const Endpoint halves = on(builder.Op("Split", fmt::format("halves{}", hop))
                                     .Input(axis)
                                     .Input(at)
                                     .Attr("num_split", int64_t{2})
                                     .Build(),
                                 from);
      at = on(builder.Op("ConcatV2", fmt::format("copied{}", hop))
                  .Input({halves.node, 0})
                  .Input({halves.node, 1})
                  .Input(axis)
                  .Build(),
              to);
    }
    // What is only waited for would not run.
    step.targets.push_back(fmt::format("copied{}", kHops - 1));
    for (int hop = 0; hop < kHops; ++hop) {
      const int turn = (hop + 1) % 2;
      step.targets.push_back(fmt::format("waiting{}", hop));
      at = on(builder.Op("Tanh", step.targets.back()).Input(own[turn]).ControlInput(at).Build(),
              turn == 0 ? first : second);
    }
  }
};

}  // namespace

HandoffChain::HandoffChain(const Machine& machine, Cancellation* cancellation) {
  std::vector<DeviceId> gpus;
  for (const DeviceId gpu : machine.Gpus()) {
    if (machine.device(gpu).kind == DeviceKind::kVirtual) gpus.push_back(gpu);
  }
  if (gpus.size() < 2) return;
  Chain chain(machine.host(), gpus[0], gpus[1]);
  workload_ = std::make_unique<Workload>("hand-offs", chain.builder.Take(), std::move(chain.step));
  RecordedRunOptions options;
  options.keep_events = true;
  options.cancellation = cancellation;
  run_ = std::make_unique<RecordedRun>(
      PlacedGraph{workload_.get(), "alternating", std::move(chain.placement)}, machine, nullptr, options);
}

HandoffChain::~HandoffChain() = default;

void HandoffChain::Run() {
  if (run_ == nullptr) return;
  run_->WarmUp(1);
  run_->RunSteps(kStepsAtOnce);
}

HandoffRun HandoffChain::Finish() {
  if (run_ == nullptr) return {};
  run_->Finish();
  return {run_->schedule(), run_->events()};
}

HandoffRun MeasureHandoffs(const Machine& machine, Cancellation* cancellation) {
  HandoffChain chain(machine, cancellation);
  for (int time = 0; time < kTimesAlone; ++time) chain.Run();
  return chain.Finish();
}

}  // namespace lanescope::study
