// SPDX-License-Identifier: Apache-2.0
// The objects behind those of Python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "python/binding/binding.h"
#include "study/predict/predictor.h"
#include "study/workload/placing.h"
#include "study/workload/workload.h"

namespace lanescope::python {

// A graph with its step. Where none is configured the whole graph is the step, which only runs refuse.
class GraphHandle {
 public:
  // Reads a file if `path` has a text, else a GraphDef's bytes and a run configuration. `machine`: on whose
  // links collectives cost what they cost; null: they go by size.
  GraphHandle(const std::string& path, const std::string& name, const nb::bytes& graph_def,
              const std::string& run, const std::string& folder, const nb::dict& feeds,
              const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
              bool soft_placement, bool fuse, const Machine* machine);

  const std::shared_ptr<const study::Workload>& workload() const { return workload_; }
  // Throws what a Workload throws whose step is not configured.
  const std::shared_ptr<const study::Workload>& Runnable() const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::shared_ptr<const study::Workload> Make(study::Unconfigured unconfigured,
                                              std::vector<std::string>* notes) const;

  std::string path_, name_, graph_def_, run_, folder_;
  study::WorkloadOptions options_;
  std::shared_ptr<const Machine> machine_;  // of the options
  std::vector<std::string> notes_;
  std::shared_ptr<const study::Workload> workload_;
};

// A placement with the graph and the machine that it is of.
struct PlacementHandle {
  std::shared_ptr<const study::Workload> read;  // as it was given; the strategy may have written another one
  std::shared_ptr<const Machine> machine;
  study::PlacedGraph placed;

  const study::Workload& workload() const { return *placed.workload; }
};

}  // namespace lanescope::python
