// Microbenchmarks of this computer, as what a cost model and a machine file say. They run no placement that
// anybody compares.
#pragma once

#include <optional>
#include <vector>

#include "core/machine/machine.h"
#include "exec/gpu_machine.h"
#include "exec/measure.h"
#include "exec/measure_network.h"
#include "study/cancellation.h"
#include "study/recorded_chain.h"

namespace lanescope::study {

// What a cost model takes from microbenchmarks.
struct MachineMeasurement {
  exec::HostMeasurement host;
  std::vector<exec::GpuInterference> gpus;  // physical GPUs; their logical parts slow each other down
  std::vector<exec::LinkTime> links;
  std::vector<exec::FetchTime> fetches;
  ChainRun handoffs;
  ChainRun messages, small_messages;  // of the processes of a job
};
// All but hand-offs and messages. Some seconds. Throws Cancelled.
MachineMeasurement MeasureMachine(const Machine& machine, Cancellation* cancellation = nullptr);

// What a machine file takes from them, by what the machine has.
struct MeasuredRates {
  std::optional<exec::HostMeasurement> host;
  std::optional<exec::GpuMeasurement> gpus;
};
// Writes what was measured into the machine: rates of the devices and a size-to-time table per link.
MeasuredRates MeasureRates(Machine* machine);

// Of the processes of a job, which are the machine's tasks. Links between their hosts get latency, bandwidth
// and table from it, and whether both directions share it, and network interfaces what they carry, unless
// they are emulated. Throws FailedPrecondition where a task has no process.
std::vector<exec::MessageTime> MeasureNetworkOf(Machine* machine, exec::Transport* transport);

}  // namespace lanescope::study
