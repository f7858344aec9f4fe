// SPDX-License-Identifier: Apache-2.0
#include "core/machine/fact_table.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"

namespace lanescope {
namespace {

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::string_view FactRow::operator[](std::string_view column) const {
  const auto found = columns_.find(column);
  LANESCOPE_CHECK(found != columns_.end());
  return found->second;
}

double FactRow::Number(std::string_view column) const {
  const std::string_view text = (*this)[column];
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  LANESCOPE_CHECK(error == std::errc() && end == text.data() + text.size());
  return value;
}

std::vector<FactRow> ReadFactTable(std::string_view table) {
  std::vector<std::string_view> names;
  std::vector<FactRow> rows;
  for (const std::string_view line : SplitAt(table, '\n')) {
    if (line.starts_with("# ")) {
      names = SplitAt(line.substr(2), '\t');
    } else if (!line.empty()) {
      const std::vector<std::string_view> values = SplitAt(line, '\t');
      LANESCOPE_CHECK(values.size() == names.size());
      std::map<std::string_view, std::string_view> columns;
      for (size_t i = 0; i < names.size(); ++i) columns[names[i]] = values[i];
      rows.emplace_back(std::move(columns));
    }
  }
  return rows;
}

}  // namespace lanescope
