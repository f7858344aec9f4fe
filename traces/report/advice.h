// SPDX-License-Identifier: Apache-2.0
// Advice on what to try next, from where a run spent its time.
#pragma once

#include <string>
#include <vector>

#include "traces/report/summary.h"

namespace lanescope::traces {

// Sentences with what each could save at most, the largest first; of what could save less than a twentieth
// of the time nothing is said. Empty: nothing stands out.
std::vector<std::string> AdviceOf(const Summary& summary);

}  // namespace lanescope::traces
