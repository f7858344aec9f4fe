// `run --replicas`.
#pragma once

#include <string>

#include "core/machine/machine.h"
#include "study/run_settings.h"
#include "study/workload.h"

namespace lanescope::cli {

struct ReplicaOptions {
  study::RunRequest run;
  bool in_graph = false;
  std::string trace;  // empty: none
  bool as_json = false;
};

// Runs one network a GPU and prints what each of them and all of them got done.
void RunReplicas(const study::Workload& workload, const Machine& machine, const ReplicaOptions& options);

}  // namespace lanescope::cli
