// SPDX-License-Identifier: Apache-2.0
// Tables of facts that are compiled in: lines of columns with tabs between, under a comment that names them.
// Internal to core.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace lanescope {

class FactRow {
 public:
  explicit FactRow(std::map<std::string_view, std::string_view> columns) : columns_(std::move(columns)) {}
  // A column that the table does not have, or that holds no number, is a defect here.
  std::string_view operator[](std::string_view column) const;
  double Number(std::string_view column) const;

 private:
  std::map<std::string_view, std::string_view> columns_;
};

// The last comment before the first row names the columns. Rows show into `table`.
std::vector<FactRow> ReadFactTable(std::string_view table);

}  // namespace lanescope
