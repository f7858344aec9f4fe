// SPDX-License-Identifier: Apache-2.0
// Patterns of names. Internal to traces and study.
#pragma once

#include <string_view>

namespace lanescope::traces {

// "*" stands for any characters, "?" for one.
bool MatchesGlob(std::string_view glob, std::string_view text);

}  // namespace lanescope::traces
