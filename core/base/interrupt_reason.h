// SPDX-License-Identifier: Apache-2.0
// How it is said that a signal ended something. Internal to core, profiler and study.
#pragma once

#include <string>

namespace lanescope {

// "interrupted" for SIGINT, "interrupted by SIGTERM" for that.
std::string InterruptReason(int signal);

}  // namespace lanescope
