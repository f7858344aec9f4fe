// SPDX-License-Identifier: Apache-2.0
// Microbenchmarks of this computer, as what a cost model and a machine file say. They run no placement that
// anybody compares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "exec/measure/gpu_machine.h"
#include "exec/measure/measure.h"
#include "exec/measure/measure_network.h"
#include "sims/engine/computers.h"
#include "study/base/cancellation.h"
#include "study/base/notes.h"
#include "study/measure/recorded_chain.h"

namespace lanescope::study {

struct TaskMeasurement;

// The numbers that a cost model takes from microbenchmarks.
struct MachineMeasurement {
  exec::HostMeasurement host;                        // of a job the first computer
  std::vector<sims::OtherComputer> other_computers;  // of a job
  std::vector<exec::GpuInterference> gpus;  // physical GPUs; their logical parts slow each other down
  std::vector<exec::LinkTime> links;
  std::vector<exec::FetchTime> fetches;
  ChainRun handoffs;
  ChainRun messages, small_messages;  // of the processes of a job
};
// All but hand-offs and messages. Some seconds. Throws Cancelled.
MachineMeasurement MeasureMachine(const Machine& machine, Cancellation* cancellation = nullptr);
// Measures a job, whose processes are the machine's tasks and all call it: each measures the devices and
// links of its own task, or one process for all of its computer that have the like; the note says where
// computers differ, of which a cost model does not know all.
MachineMeasurement MeasureMachineOf(const Machine& machine, exec::Transport* transport,
                                    Cancellation* cancellation, const Notes& note);

// As one measurement, by task of the machine: the links are those of all; of other computers there are cores
// and speeds, and of what is there once the first one's count. At least one task.
MachineMeasurement Joined(const Machine& machine, const std::vector<TaskMeasurement>& tasks);

struct MeasuredHost {
  std::string where;  // whom it was measured by; empty: by this process alone
  exec::HostMeasurement measured;
};
// One line that names those that differ from the first, in cores or in what one worker does, and in what;
// empty where none does. Rates that are within a tenth of each other do not differ.
std::string DifferencesOf(const std::vector<MeasuredHost>& hosts);

// The numbers that a machine file takes from them, by what the machine has.
struct MeasuredRates {
  std::vector<MeasuredHost> hosts;
  std::optional<exec::GpuMeasurement> gpus;
};
// Writes what was measured into the machine: rates of the devices and a size-to-time table per link.
MeasuredRates MeasureRates(Machine* machine);
// Does that for a job, as MeasureMachineOf. All processes get the whole.
MeasuredRates MeasureRatesOf(Machine* machine, exec::Transport* transport);

// Measures the network of a job's processes, which are the machine's tasks. Links between their hosts get
// latency, bandwidth and table from it, and whether both directions share it, and network interfaces what
// they carry, unless they are emulated. Throws FailedPrecondition where a task has no process.
std::vector<exec::MessageTime> MeasureNetworkOf(Machine* machine, exec::Transport* transport);

}  // namespace lanescope::study
