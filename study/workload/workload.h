// SPDX-License-Identifier: Apache-2.0
// A graph with the configuration of its step: what is placed, run and predicted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/graph/tensor.h"
#include "core/inputs/run_spec.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"
#include "study/base/notes.h"

namespace lanescope::study {

// The meaning of a graph whose step is not configured.
enum class Unconfigured {
  kRefuse,      // nothing: it is an error
  kWholeGraph,  // a step that runs every node, placeholders fed, unknown sizes taken as 1
};

// Options that override the run configuration.
struct WorkloadOptions {
  std::vector<std::string> feeds;        // NAME=file.npy: fed instead of the configured tensor
  std::map<std::string, Tensor> values;  // by name, likewise
  std::vector<std::string> fetches;      // if there are any, instead of the configured ones; likewise
  std::vector<std::string> targets;
  std::vector<std::string> queues;       // changes of queues (study/workload/queue_change.h)
  std::map<std::string, int64_t> trips;  // by loop, instead of those of the run configuration
  bool exact_trips = false;              // they are how often a loop runs, not how often at most
  // How all-reduces are done, whether by the GPUs' library where they may be, and on whose links collectives
  // cost what they cost (InlineOptions); the machine is looked at while the graph is read.
  std::string all_reduce;
  bool joint_launches = false;
  const Machine* machine = nullptr;
  bool soft_placement = true;  // false: to fail where a requested device cannot be used
  bool fuse = false;           // nodes that can share a launch do (CompileRequest::fuse)
  Unconfigured unconfigured = Unconfigured::kRefuse;
  Notes note;  // of what is assumed of a whole graph
};

// Immutable after construction, so that any thread may use it. Not copyable: others refer to its graph.
class Workload {
 public:
  // Reads a graph file, the folder of a SavedModel or an ONNX model, and the run configuration beside it.
  // Throws what ReadGraph, ReadSavedModel, ReadOnnxModel, ReadRunSpecBeside, ReadNpy and InferGraph throw,
  // InvalidArgument for a step that is not configured (kRefuse).
  explicit Workload(const std::string& path, const WorkloadOptions& options = {});
  // A graph of this program. Throws the same.
  Workload(std::string name, Graph graph, RunSpec spec, const WorkloadOptions& options = {});
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  const Graph& graph() const { return graph_; }
  const RunSpec& spec() const { return spec_; }
  const std::string& path() const { return path_; }  // empty: from no file
  const std::string& name() const { return name_; }  // file name without folders
  const CompileRequest& request() const { return request_; }
  // Shapes and values with the step's feeds.
  const GraphInfo& info() const { return *info_; }
  std::shared_ptr<const GraphInfo> shared_info() const { return info_; }
  const PlacerOptions& placer() const { return placer_; }
  // As WorkloadOptions had them, for graphs that are written of this one.
  const std::string& all_reduce() const { return all_reduce_; }
  bool joint_launches() const { return joint_launches_; }
  // The loops whose end data decide (InlineFunctions): "LOOP/trips" says how often one ran.
  const std::vector<std::string>& counted_loops() const { return counted_loops_; }

  // Dtypes and shapes of what a node reads.
  std::vector<TensorInfo> InputInfos(NodeId node) const;

 private:
  void TakeSavedModel(const std::string& path, const WorkloadOptions& options);
  void TakeOnnxModel(const std::string& path, const WorkloadOptions& options);
  // `title`: how messages call it.
  void Inline(const WorkloadOptions& options);
  void Prepare(const std::string& title, const WorkloadOptions& options);

  std::string path_, name_;
  Graph graph_;
  RunSpec spec_;
  CompileRequest request_;
  std::shared_ptr<const GraphInfo> info_;
  PlacerOptions placer_;
  std::string all_reduce_;
  bool joint_launches_ = false;
  std::vector<std::string> counted_loops_;
};

// Beside a graph that was written from `original`: its run configuration with the fetches, targets and loss
// of `spec`. Files that it names must lie beside the new one too.
void SaveRunConfiguration(const Workload& original, const RunSpec& spec, const std::string& graph_path);
// Beside a graph with the nodes of `original`: its run configuration as it is, where it has one and there is
// none yet.
void CopyRunConfiguration(const Workload& original, const std::string& graph_path);

}  // namespace lanescope::study
