// SPDX-License-Identifier: Apache-2.0
// Activities that the captures of a job's processes deliver, on its way into the trace of the first of them.
// Internal to study.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/task_share.h"
#include "traces/record/activity_rows.h"

namespace lanescope::study {

// The rows as the first process' trace has them: commands by their numbers in the whole schedule, GPUs by
// those that they have among all of the job, and times by the first process' clock, of which this one's is
// `ahead_ns` ahead.
void TranslateForFirst(const TaskShare& share, int64_t ahead_ns, traces::ActivityBatch* batch);

// The activities of the process with this number.
std::string BytesOfBatches(uint32_t pid, const std::vector<traces::ActivityBatch>& batches);

// Gives the batches of all processes, by rank. If processes on two hosts use the same number, one keeps it
// and the other is renumbered, the same every time. Throws Internal for what BytesOfBatches has not made.
std::vector<traces::ActivityBatch> BatchesOfRanks(const std::vector<std::string>& bytes);

}  // namespace lanescope::study
