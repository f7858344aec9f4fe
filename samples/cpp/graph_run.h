// SPDX-License-Identifier: Apache-2.0
// The common part of the samples: a graph that was written here, placed as its device fields say and run on
// virtual GPUs.
#pragma once

#include <recorded_runs.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/place/placement_log.h"
#include "core/place/placer.h"
#include "exec/run/session.h"
#include "graphs/scope.h"

namespace samples {

struct RunOptions {
  lanescope::Machine machine = lanescope::VirtualMachine(2, 1);
  bool soft_placement = true;
  bool log_placement = false;  // one line a node, as TensorFlow's log_device_placement
  lanescope::exec::SessionOptions session = {};
};

// Owns machine, placement and session of one graph. The scope must outlive it and be finished.
class GraphRun {
 public:
  explicit GraphRun(const lanescope::graphs::Scope& scope, const RunOptions& options = {})
      : graph_(scope.graph()),
        machine_(options.machine),
        placement_(Place(options)),
        session_(graph_, placement_, machine_, options.session),
        recorder_(graph_) {}

  // Values of `fetches`, after `targets` have run too.
  std::vector<lanescope::Tensor> operator()(const std::vector<lanescope::Endpoint>& fetches,
                                            const std::map<std::string, lanescope::Tensor>& feeds = {},
                                            const std::vector<lanescope::Endpoint>& targets = {}) {
    const lanescope::exec::RunRequest request = Request(fetches, feeds, targets);
    auto& step = session_.Prepare(request);
    copies_ = CopiesBetweenGpus(*step.schedule);
    std::vector<lanescope::Tensor> values = session_.Run(step, feeds).fetches;
    recorder_.Add(feeds, request.targets, request.fetches, values);
    return values;
  }

  // The bytes that the last step copied from GPU to GPU.
  struct Copies {
    int count = 0;
    int64_t bytes = 0;
  };
  const Copies& copies() const { return copies_; }

  std::string DeviceOf(lanescope::Endpoint node) const {
    return machine_.device(placement_.device[node.node]).local_name();
  }

 private:
  lanescope::exec::RunRequest Request(const std::vector<lanescope::Endpoint>& fetches,
                                      const std::map<std::string, lanescope::Tensor>& feeds,
                                      const std::vector<lanescope::Endpoint>& targets) const {
    lanescope::exec::RunRequest request;
    request.feeds = feeds;
    for (const auto& fetch : fetches) request.fetches.push_back(graph_.TensorName(fetch));
    for (const auto& target : targets) request.targets.push_back(graph_.node(target.node).name);
    return request;
  }

  Copies CopiesBetweenGpus(const lanescope::Schedule& schedule) const {
    Copies copies;
    for (const lanescope::Command& command : schedule.commands) {
      if (command.kind != lanescope::CommandKind::kCopy) continue;
      if (!machine_.device(schedule.CopySource(command)).is_gpu()) continue;
      if (!machine_.device(schedule.CopyDestination(command)).is_gpu()) continue;
      ++copies.count;
      copies.bytes += command.bytes;
    }
    return copies;
  }

  lanescope::Placement Place(const RunOptions& options) const {
    lanescope::PlacerOptions placer;
    placer.soft_placement = options.soft_placement;
    if (options.log_placement) {
      placer.log = [this](lanescope::NodeId node, lanescope::DeviceId device) {
        std::printf("%s\n", lanescope::PlacementLogLine(graph_.node(node), machine_.device(device)).c_str());
      };
    }
    return lanescope::PlaceGraph(graph_, machine_, placer);
  }

  const lanescope::Graph& graph_;
  const lanescope::Machine machine_;
  const lanescope::Placement placement_;
  lanescope::exec::Session session_;
  RunRecorder recorder_;
  Copies copies_;
};

inline void Print(const char* name, const lanescope::Tensor& tensor) {
  std::printf("%s = [", name);
  for (int64_t i = 0; i < tensor.NumElements(); ++i)
    std::printf("%s%g", i == 0 ? "" : " ", tensor.data<float>()[i]);
  std::printf("]\n");
}

// Runs `program` and prints its error, if it ends with one, as the command line does.
template <typename Program>
int Main(Program program) {
  try {
    program();
    return 0;
  } catch (const lanescope::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace samples
