// SPDX-License-Identifier: Apache-2.0
// A what-if of another placement or machine: the state of an edit, and its simulation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "gui/model/run_data.h"
#include "study/predict/predictor.h"
#include "study/workload/placing.h"
#include "study/workload/workload.h"

namespace lanescope::gui {

// A placement on a machine. Immutable once shared.
struct WhatIfEdit {
  Placement placement;
  Machine machine;
  IdVector<DeviceId, double> speed;  // launches take 1 / speed of their time
  bool fused = false;                // nodes that can share launches do
  std::string text;                  // what the last change was: "move 4 ops to GPU:1"
  std::string gesture;               // what a slider is moving: "link 0"; empty: a change by itself
};

// The step of an edit, and what its commands cost: all that predictions of it need.
struct CompiledEdit {
  Schedule schedule;
  sims::CommandEstimates estimates;
};

// A graph whose nodes share launches where they can; read when a thread first asks for it. Thread-safe.
class FusedWorkload {
 public:
  FusedWorkload(std::string path, const Machine& machine) : path_(std::move(path)), machine_(machine) {}
  const study::Workload& Get() const;

 private:
  const std::string path_;
  const Machine machine_;
  mutable std::once_flag read_;
  mutable std::shared_ptr<const study::Workload> workload_;
};

// The data that are prepared once for the run that is edited. Immutable once shared.
struct WhatIfBase {
  std::shared_ptr<const study::Workload> workload;
  std::shared_ptr<const FusedWorkload> fused;  // the same, for edits that share launches
  std::optional<study::Predictor> predictor;   // of the unedited machine
  std::string note;                            // on what it is calibrated, or why it is not
  WhatIfEdit start;                            // as the run was
  IdVector<NodeId, NodeId> groups;             // ColocationGroups
  RunData run_of_graph;                        // RunOfGraph
  std::shared_ptr<const RunData> run;
  std::shared_ptr<const RunData> start_run;  // simulated, unedited
  std::shared_ptr<const CompiledEdit> start_compiled;
  int64_t start_step_ns = 0;

  const Graph& graph() const { return workload->graph(); }
};

struct PrepareRequest {
  std::shared_ptr<const RunData> run;
  std::string graph_path;  // empty: looked for
  std::vector<std::string> graph_folders;
};
// Reads the graph, the run's placement and machine from its trace, calibrates and simulates the run as it
// was. Throws FailedPrecondition where the run says too little, NotFound for a graph that is nowhere,
// InvalidArgument for a graph that is not the run's, Cancelled, and what reading and compiling throw.
std::shared_ptr<const WhatIfBase> PrepareWhatIf(const PrepareRequest& request,
                                                const std::atomic<bool>& cancelled);

struct SimulateRequest {
  std::shared_ptr<const WhatIfBase> base;
  std::shared_ptr<const WhatIfEdit> edit;
  uint64_t number = 0;
};
// The outcome of an edit: all that its run is made of.
struct SimulatedStep {
  std::shared_ptr<const CompiledEdit> compiled;
  std::shared_ptr<const sims::Prediction> prediction;  // without an interval
  uint64_t number = 0;                                 // the request's
};
// Predicts as `simulate` with these costs gives. Memory limits do not end it: the run then is
// out_of_memory(). Throws Cancelled, and what Compile throws.
SimulatedStep SimulateEdit(const SimulateRequest& request, const std::atomic<bool>& cancelled);

struct SimulateResult {
  std::shared_ptr<const RunData> run;
  std::shared_ptr<const CompiledEdit> compiled;
  uint64_t number = 0;
};
// Makes the run for the timeline, which takes as long as half of the simulation: its time is shown before it.
struct ShowRequest {
  SimulateRequest of;
  SimulatedStep step;  // what SimulateEdit gave
};
SimulateResult RunOfEdit(const ShowRequest& request, const std::atomic<bool>& cancelled);

// Gives that run with the interval of its step. Takes many simulations, so the value is shown before it.
struct IntervalRequest {
  SimulateRequest of;
  std::shared_ptr<const RunData> run;            // what RunOfEdit gave
  std::shared_ptr<const CompiledEdit> compiled;  // and this
};
SimulateResult AddInterval(const IntervalRequest& request, const std::atomic<bool>& cancelled);

// As runs of the edit are written: under the strategy of its base, "(edited)" where nodes moved. Refers to
// the base's workload.
study::PlacedGraph PlacedEdit(const WhatIfBase& base, const WhatIfEdit& edit);
// On the machine as a machine file says it: rates of devices with another speed are scaled. Must not outlive
// the base.
study::Predictor PredictorOf(const WhatIfBase& base, const WhatIfEdit& edit);

// A run without steps, as all of the graph begin: its ops, indexed, and `signatures`, OpSignature by node.
RunData RunOfGraph(const Graph& graph, std::vector<std::string> signatures);
// A schedule with the times of one simulated step, to be finished by FinishRun with `*edges`.
RunData RunOfSimulation(const RunData& of_graph, const Machine& machine, const Schedule& schedule,
                        const sims::Prediction& prediction, std::vector<std::pair<int, int>>* edges);

// Edits. They return the edit after the change, or throw InvalidArgument with what is wrong. `note` (not
// null) gets what could not be moved.
std::shared_ptr<const WhatIfEdit> MoveNodes(const WhatIfBase& base, const WhatIfEdit& from,
                                            const std::vector<NodeId>& nodes, DeviceId device,
                                            std::string* note);
std::shared_ptr<const WhatIfEdit> SetBandwidth(const WhatIfBase& base, const WhatIfEdit& from, int link,
                                               double bytes_per_second);
std::shared_ptr<const WhatIfEdit> SetSpeed(const WhatIfBase& base, const WhatIfEdit& from, DeviceId device,
                                           double speed);
std::shared_ptr<const WhatIfEdit> SetFusion(const WhatIfEdit& from, bool fused);

}  // namespace lanescope::gui
