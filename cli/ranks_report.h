// SPDX-License-Identifier: Apache-2.0
// The processes that ran something together.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/machine/machine.h"
#include "exec/messages/transport.h"
#include "study/job/job.h"

namespace lanescope::cli {

// `own`: not null where others serve this process: it is the run's only one.
nlohmann::json RanksJson(const study::Job& job, const Machine& machine, const exec::Transport* own);
// How far apart their clocks are; nothing of one alone.
void PrintRanks(const study::Job& job, const Machine& machine);

}  // namespace lanescope::cli
