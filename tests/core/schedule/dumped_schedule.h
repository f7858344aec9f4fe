// SPDX-License-Identifier: Apache-2.0
// A check of a compiled step that knows nothing of the compiler: it reads what `place --dump-schedule --json`
// prints, compares every command with every other, and shares no code with the planner or the verifier.
#pragma once

#include <string>
#include <string_view>

namespace lanescope::test {

// The first fault found, empty for none: an operand outside its memory, two commands without an order that
// touch the same bytes (one of them writing), a command that reads what has been overwritten.
std::string FaultOfDumpedSchedule(std::string_view json);

}  // namespace lanescope::test
