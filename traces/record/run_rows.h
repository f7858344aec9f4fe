// SPDX-License-Identifier: Apache-2.0
// The rows that describe a run: everything but its events. Private to traces/; owned by the writing thread.
// Internal to traces.
#pragma once

#include <cstdint>
#include <vector>

#include "core/record/run_info.h"
#include "core/schedule/schedule.h"
#include "traces/store/sqlite.h"
#include "traces/store/string_table.h"

namespace lanescope::traces {

// Runs are the top 16 bits of a signed globalPid.
inline constexpr int kMaxRunId = 32767;

inline int64_t GlobalPid(int run, int64_t pid) { return (int64_t{run} << 48) | ((pid & 0xffffff) << 24); }

// The first of `count` correlation ids that no other writer of the file will use.
int64_t ReserveCorrelationIds(Database& database, int64_t count);

// Records of the run that were lost; nothing for none.
void InsertDropped(Database& database, int run, std::string_view what, int64_t count);

// Device numbers of the activity tables: GPUs in order of id, then the others
// in order of the file.
IdVector<DeviceId, int> TraceDeviceIds(const Machine& machine);

// The columns that a command's activities have in common.
struct CommandInfo {
  CommandKind kind = CommandKind::kLaunch;
  int device = 0;  // of the activity tables
  int stream = 0;
  int src = 0, dst = 0;  // copies
  int64_t name = 0, op = 0;
  int64_t copy_kind = 0, src_kind = 0, dst_kind = 0;
};

struct RunClock {
  int64_t origin_ns = 0;  // on the clock of the run's events
  int64_t utc_ns = 0;
};

// Inserts the run, its process, devices, nodes and placement, marked incomplete. Returns its number. Throws
// ResourceExhausted when the file has no number left.
int InsertRun(Database& database, const RunInfo& info, const RunClock& clock, int64_t pid);

// Inserts commands, queues, dependencies, streams (of the first schedule) and planned peaks of schedule
// number `schedule`; returns what writing its events needs.
IdVector<CommandId, CommandInfo> InsertSchedule(Database& database, StringTable& strings, int run,
                                                int64_t pid, const RunInfo& info,
                                                const IdVector<DeviceId, int>& devices, int schedule,
                                                const Schedule& compiled);

}  // namespace lanescope::traces
