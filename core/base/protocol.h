// SPDX-License-Identifier: Apache-2.0
// The version of what the processes of a job send each other.
#pragma once

#include <cstdint>

namespace lanescope {

// Raised with every change of the letters, records, frames and tags that processes exchange; processes of
// other numbers are refused. tests/exec/tasks/protocol_test.cpp writes their layout down and fails where that
// changes.
inline constexpr int64_t kJobProtocol = 1;

}  // namespace lanescope
