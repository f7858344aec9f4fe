// SPDX-License-Identifier: Apache-2.0
#include "study/workload/placing.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/collective/joint_launch.h"
#include "core/strategies/graph_strategy.h"
#include "core/strategies/strategy.h"
#include "exec/device/backends.h"
#include "study/workload/external_strategy.h"
#include "study/workload/module_tree.h"

namespace lanescope::study {
namespace {

constexpr std::string_view kProgramPrefix = "exec:";

PlacedGraph PlaceWithCopies(const Workload& workload, const std::string& strategy, const Machine& machine,
                            const CostModel& costs, const PlaceOptions& options);

bool IsModelledCluster(const Machine& machine) {
  return machine.cluster && std::ranges::all_of(machine.devices, [](const DeviceSpec& device) {
           return !device.is_gpu() || device.kind == DeviceKind::kModelled;
         });
}

// An error names its node first: the line of the model that the node stands for is put behind it, where an
// export knows it.
StepGraph Rewrite(const Workload& workload, const std::string& strategy, const RewriteInput& input) {
  try {
    return RewriteByStrategy(strategy, input);
  } catch (const Error& error) {
    const std::string& message = error.message();
    const size_t begin = message.find('\''), end = message.find('\'', begin + 1);
    if (begin == std::string::npos || end == std::string::npos) throw;
    const std::string line = LineOfNode(workload.path(), message.substr(begin + 1, end - begin - 1));
    if (line.empty()) throw;
    throw Error(error.code(), fmt::format("{} at {}{}", message.substr(0, end + 1), Printable(line),
                                          message.substr(end + 1)));
  }
}

PlacedGraph PlaceAsItIs(const Workload& workload, const std::string& strategy, const Machine& machine,
                        const CostModel& costs, const PlaceOptions& options) {
  if (IsGraphStrategy(strategy)) {
    StepGraph step =
        Rewrite(workload, strategy, {workload.graph(), workload.spec(), workload.info(), machine, costs});
    WorkloadOptions same;
    same.soft_placement = workload.placer().soft_placement;
    same.all_reduce = workload.all_reduce();
    same.joint_launches = workload.joint_launches() ||
                          (IsModelledCluster(machine) && TakesJointLaunches(machine, workload.all_reduce()));
    same.fuse = workload.request().fuse;
    const auto written =
        std::make_shared<const Workload>(workload.name(), std::move(step.graph), std::move(step.spec), same);
    PlacedGraph placed = PlaceAsItIs(*written, "annotated", machine, costs, options);
    placed.strategy = strategy;
    if (placed.written == nullptr) placed.written = written;
    return placed;
  }
  PlacerOptions placer = workload.placer();
  std::vector<NodeId> order;
  if (options.order != nullptr) placer.log = [&](NodeId node, DeviceId) { order.push_back(node); };
  const StrategyInput input{workload.graph(), workload.info(), machine, costs, placer, &workload.request()};
  PlacedGraph placed{&workload, StrategyLabel(strategy), {}};
  if (strategy.starts_with(kProgramPrefix)) {
    const auto program = std::string_view(strategy).substr(kProgramPrefix.size());
    placed.placement = PlaceByProgram(program, workload, machine, costs, PlaceAnnotated(input),
                                      {1000 * options.program_timeout_s, options.cancellation});
  } else {
    placed.placement = PlaceByStrategy(strategy, input);
  }
  if (!WhyNoJointLaunches(workload.graph(), placed.placement, machine).empty())
    return PlaceWithCopies(workload, strategy, machine, costs, options);
  if (options.order != nullptr) {
    // A strategy may place several times; the last time counts.
    const auto nodes = std::min(order.size(), workload.graph().num_nodes());
    options.order->assign(order.end() - static_cast<ptrdiff_t>(nodes), order.end());
  }
  return placed;
}

// The workload with copies in place of joint launches, under the same strategy.
PlacedGraph PlaceWithCopies(const Workload& workload, const std::string& strategy, const Machine& machine,
                            const CostModel& costs, const PlaceOptions& options) {
  WorkloadOptions same;
  same.soft_placement = workload.placer().soft_placement;
  same.fuse = workload.request().fuse;
  const auto written = std::make_shared<const Workload>(
      workload.name(), WithoutJointLaunches(workload.graph(), workload.request().feeds, &machine),
      workload.spec(), same);
  PlacedGraph placed = PlaceAsItIs(*written, strategy, machine, costs, options);
  placed.written = written;
  return placed;
}

}  // namespace

bool TakesJointLaunches(const Machine& machine, const std::string& all_reduce) {
  if (all_reduce.empty()) return exec::HasJointLaunches(machine) || IsModelledCluster(machine);
  return all_reduce == "nccl" &&
         std::none_of(machine.devices.begin(), machine.devices.end(), [](const DeviceSpec& device) {
           return device.is_gpu() && device.kind == DeviceKind::kVirtual;
         });
}

PlacedGraph Place(const Workload& workload, const std::string& strategy, const Machine& machine,
                  const CostModel& costs, const PlaceOptions& options) {
  return OnWire(PlaceAsItIs(workload, strategy, machine, costs, options), machine, options.wire);
}

PlacedGraph OnWire(PlacedGraph placed, const Machine& machine, WireFormat format) {
  if (format == WireFormat::kFloat32) return placed;
  const Workload& workload = *placed.workload;
  WiredGraph wired = WriteWireFormat(workload.graph(), workload.info(), workload.request().feeds,
                                     workload.request().fetches, placed.placement, machine, format);
  WorkloadOptions same;
  same.soft_placement = workload.placer().soft_placement;
  same.fuse = workload.request().fuse;
  PlacedGraph written{nullptr, fmt::format("{}, {}", placed.strategy, WireFormatName(format)),
                      std::move(wired.placement)};
  written.written =
      std::make_shared<const Workload>(workload.name(), std::move(wired.graph), workload.spec(), same);
  written.workload = written.written.get();
  LANESCOPE_CHECK(written.workload->graph().num_nodes() == written.placement.device.size());
  return written;
}

Schedule CompileStep(const PlacedGraph& placed, const Machine& machine) {
  const Workload& workload = *placed.workload;
  return Compile(workload.graph(), workload.info(), workload.request(), placed.placement, machine);
}

}  // namespace lanescope::study
