// SPDX-License-Identifier: Apache-2.0
// How long the lines of tables may be.
#pragma once

#include <CLI/CLI.hpp>

namespace lanescope::cli {

// The flag --full-names.
void AddFullNames(CLI::App* command);
// Adds that and the option --width.
void AddLineWidth(CLI::App* command);

// The columns of --width, or of the terminal; where there is none those that COLUMNS names, or 120. 0 with
// --full-names: names are not shortened.
int LineWidth();

}  // namespace lanescope::cli
