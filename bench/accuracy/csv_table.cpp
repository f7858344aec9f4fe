// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy/csv_table.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/printable.h"

namespace lanescope::bench {
namespace {

std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

std::vector<CsvRow> ReadCsvTable(const std::string& path) {
  std::istringstream text(ReadFile(path));
  std::string line;
  std::getline(text, line);
  const std::vector<std::string> names = CellsOf(line);
  std::vector<CsvRow> rows;
  while (std::getline(text, line)) {
    const std::vector<std::string> cells = CellsOf(line);
    if (cells.size() > names.size())
      Throw(Code::kDataLoss, "{}: row {} has {} cells under {} names", path, rows.size() + 1, cells.size(),
            names.size());
    CsvRow& row = rows.emplace_back();
    for (size_t i = 0; i < cells.size(); ++i) row[names[i]] = cells[i];
  }
  return rows;
}

double NumberIn(const CsvRow& row, const std::string& name, double missing) {
  const std::string& text = TextIn(row, name);
  if (text.empty()) return missing;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(number))
    Throw(Code::kInvalidArgument, "{} is no number, but {}", name, Printable(text));
  return number;
}

const std::string& TextIn(const CsvRow& row, const std::string& name) {
  static const std::string kEmpty;
  const auto found = row.find(name);
  return found == row.end() ? kEmpty : found->second;
}

}  // namespace lanescope::bench
