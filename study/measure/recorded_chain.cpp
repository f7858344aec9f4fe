// SPDX-License-Identifier: Apache-2.0
#include "study/measure/recorded_chain.h"

#include <utility>

#include "study/measure/participant.h"
#include "study/measure/recorded_run.h"

namespace lanescope::study {

Endpoint Chain::On(Endpoint node, DeviceId device) {
  placement.device.resize(builder.graph().num_nodes(), device);
  placement.device[node.node] = device;
  return node;
}

Endpoint Chain::Feed(const std::string& name, int64_t elements, DeviceId device) {
  const Shape shape({elements});
  step.feeds[name].shape = shape;
  step.feeds[name].values = Tensor(DataType::kFloat, shape);
  return On(builder.Placeholder(name, DataType::kFloat, shape), device);
}

RecordedChain::RecordedChain(const std::string& name, Chain chain, const Machine& machine, Job* job,
                             Cancellation* cancellation) {
  // A node that is only waited for would not run.
  const Graph& graph = chain.builder.graph();
  for (const NodeId node : graph.node_ids()) chain.step.targets.push_back(graph.node(node).name);
  workload_ = std::make_unique<Workload>(name, chain.builder.Take(), std::move(chain.step));
  RecordedRunOptions options;
  options.keep_events = true;
  options.cancellation = cancellation;
  options.participant = ProcessOfJob(job);
  run_ = std::make_unique<RecordedRun>(PlacedGraph{workload_.get(), name, std::move(chain.placement)},
                                       machine, nullptr, options);
}

RecordedChain::~RecordedChain() = default;

void RecordedChain::Run() {
  constexpr int kStepsAtOnce = 4;
  run_->WarmUp(1);
  run_->RunSteps(kStepsAtOnce);
}

ChainRun RecordedChain::Finish() {
  run_->Finish();
  return {run_->schedule(), run_->events(), run_->messaging_ns()};
}

}  // namespace lanescope::study
