// SPDX-License-Identifier: Apache-2.0
// Tables of measured figures: lines of comma-separated values under a line of names.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lanescope::bench {

using CsvRow = std::map<std::string, std::string>;

// Throws NotFound, and DataLoss for a line with more cells than names.
std::vector<CsvRow> ReadCsvTable(const std::string& path);

// `missing` for an empty or absent cell. Throws InvalidArgument for one that is no number.
double NumberIn(const CsvRow& row, const std::string& name, double missing = 0);
// Empty for an absent cell.
const std::string& TextIn(const CsvRow& row, const std::string& name);

}  // namespace lanescope::bench
