// SPDX-License-Identifier: Apache-2.0
// `simulate TRACE`: what a trace's steps would take if something in it were different.
#pragma once

#include <string>
#include <vector>

namespace lanescope::cli {

struct WhatIfArguments {
  std::string trace;
  int run = 0;  // 0: the last
  std::vector<std::string> set;
  bool as_json = false;
};

// Prints. Throws what AsTrace, ReadReplayGraph and FindWhatIf throw.
void SimulateTrace(const WhatIfArguments& arguments);

}  // namespace lanescope::cli
