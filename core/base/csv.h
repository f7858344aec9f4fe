// SPDX-License-Identifier: Apache-2.0
// Lines of comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace lanescope {

// Cells with commas, quotes or line breaks stand in quotes, and the line ends with a line break.
std::string CsvLine(const std::vector<std::string>& cells);

}  // namespace lanescope
