// SPDX-License-Identifier: Apache-2.0
// The version of what the processes of a job send each other.
#pragma once

#include <cstdint>

namespace lanescope {

// Raised with every change of the letters, records, frames and tags that processes exchange; processes of
// other numbers are refused. protocol_test.cpp of tests/exec/tasks, tests/study and tests/sims write their
// layout down and fail where that changes.
inline constexpr int64_t kJobProtocol = 2;

}  // namespace lanescope
