// SPDX-License-Identifier: Apache-2.0
// `run --replicas`.
#pragma once

#include <string>

#include "core/machine/machine.h"
#include "core/place/wire_format.h"
#include "study/job/job.h"
#include "study/measure/run_settings.h"
#include "study/workload/workload.h"

namespace lanescope::cli {

struct ReplicaOptions {
  study::RunRequest run;
  bool in_graph = false;
  WireFormat wire = WireFormat::kFloat32;
  std::string settings;      // that all processes must have been told alike
  std::string trace;         // empty: none
  std::string save_fetches;  // folder, with one for each network; empty: none
  bool as_json = false;
};

// Runs one network a GPU, those of all processes of the job. The first prints what each of them and all of
// them got done.
void RunReplicas(const study::Workload& workload, const Machine& machine, study::Job* job,
                 const ReplicaOptions& options);

}  // namespace lanescope::cli
