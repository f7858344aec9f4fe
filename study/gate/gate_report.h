// SPDX-License-Identifier: Apache-2.0
// The result of a gate, for other programs: JSON, JUnit's XML for servers of continuous integration, Markdown
// for a pull request. Same result, same bytes.
#pragma once

#include <string>

#include "study/gate/gate.h"

namespace lanescope::study {

// "+5.2% (+4.6% to +5.9%)".
std::string ChangeText(const QuantityChange& change);
// "1 run", "20 runs".
std::string RunsText(int runs);
// "12.43 ms", "1.5 GiB".
std::string AmountText(const QuantityChange& change, double amount);
// One line: the verdict, what decides it, and the op that most of it comes from.
std::string GateSentence(const GateResult& result);

std::string GateJson(const GateResult& result);
// A test case for each quantity: a failure where it is worse, skipped where nobody can tell.
std::string GateJUnit(const GateResult& result);
std::string GateMarkdown(const GateResult& result);

}  // namespace lanescope::study
