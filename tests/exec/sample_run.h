// SPDX-License-Identifier: Apache-2.0
// Machines of GPUs, and sample graphs on any machine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "core/schedule/cost.h"
#include "core/strategies/strategy.h"
#include "exec/run/session.h"
#include "tests/exec/session_harness.h"
#include "tests/support/paths.h"

namespace lanescope::exec::test {

// `physical`: by GPU of the machine, the ordinal. Two with the same ordinal are logical devices.
inline Machine GpuMachine(const std::vector<int>& physical, int64_t memory_bytes = int64_t{512} << 20) {
  Machine machine = VirtualMachine(static_cast<int>(physical.size()), 1);
  for (DeviceSpec& device : machine.devices) {
    if (!device.is_gpu()) continue;
    device.physical = physical[static_cast<size_t>(device.parsed.id)];
    device.kind = std::count(physical.begin(), physical.end(), device.physical) > 1 ? DeviceKind::kLogical
                                                                                    : DeviceKind::kCuda;
    device.in_order = true;
    device.memory_bytes = memory_bytes;
  }
  return machine;
}

// A sample graph under a strategy in a session of its own. `batch`: examples of a step, where not what the
// sample says. `job`: of the processes that run it together.
class SampleRun {
 public:
  SampleRun(const std::string& name, std::string_view strategy, const Machine& machine,
            const DeviceOptions& devices = {}, int64_t batch = 0, const JobOptions& job = {})
      : machine_(machine) {
    const std::string path = lanescope::test::SourceDir() + "/samples/graphs/" + name + ".pbtxt";
    graph_ = ReadGraph(path);
    spec_ = ReadRunSpecBeside(path);
    for (const auto& [feed, axis] : spec_.batch_axis) {
      if (batch > 0) spec_.feeds.at(feed).shape.set_dim(axis, batch);
    }
    std::vector<std::pair<Endpoint, TensorInfo>> feeds;
    for (const auto& [feed, tensor] : MakeFeeds(spec_, 0)) {
      TensorInfo info;
      info.dtype = tensor.dtype();
      info.shape = tensor.shape();
      feeds.emplace_back(graph_.FindEndpoint(feed), info);
    }
    const GraphInfo info = InferGraph(graph_, feeds);
    const RooflineCost costs;
    placement_ = PlaceByStrategy(std::string(strategy), {graph_, info, machine_, costs, {}});
    SessionOptions options;
    options.devices = devices;
    options.job = job;
    session_ = std::make_unique<Session>(graph_, placement_, machine_, options);
    for (const std::string& target : spec_.init) session_->Run({{}, {}, {target}});
  }

  RunRequest Request() { return {MakeFeeds(spec_, step_++), spec_.fetches, spec_.targets}; }
  std::vector<Tensor> Step() { return session_->Run(Request()).fetches; }
  Session& session() { return *session_; }
  const Graph& graph() const { return graph_; }

 private:
  Machine machine_;
  Graph graph_;
  RunSpec spec_;
  Placement placement_;
  std::unique_ptr<Session> session_;
  int64_t step_ = 0;
};

}  // namespace lanescope::exec::test
