// SPDX-License-Identifier: Apache-2.0
#include "traces/store/query_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/printable.h"

namespace lanescope::traces {
namespace {

constexpr size_t kSampledRows = 1000;

std::string CellText(const QueryValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* string = std::get_if<std::string>(&value)) return *string;
  return "";
}

bool IsNumber(const QueryValue& value) { return value.index() == 1 || value.index() == 2; }

std::vector<std::string> CellsOf(const QueryRow& row) {
  std::vector<std::string> cells;
  for (const QueryValue& value : row) cells.push_back(CellText(value));
  return cells;
}

nlohmann::json JsonOf(const QueryValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) {
    return std::isfinite(*real) ? nlohmann::json(*real) : nlohmann::json();
  }
  if (const auto* string = std::get_if<std::string>(&value)) return *string;
  return nullptr;
}

std::string JsonText(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void QueryTable::Begin(const std::vector<std::string>& columns) { columns_ = columns; }

void QueryTable::Add(QueryRow row) {
  if (!sampling_) {
    table_.Row(CellsOf(row));
    return output_(table_.Take(width_));
  }
  sample_.push_back(std::move(row));
  if (sample_.size() == kSampledRows) PrintSample();
}

void QueryTable::Finish() {
  if (sampling_) PrintSample();
}

void QueryTable::PrintSample() {
  sampling_ = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool numbers =
        std::any_of(sample_.begin(), sample_.end(), [&](const QueryRow& row) { return IsNumber(row[i]); });
    numbers ? table_.Number(columns_[i]) : table_.Name(columns_[i]);
  }
  table_.Ruled();
  for (const QueryRow& row : sample_) table_.Row(CellsOf(row));
  sample_ = {};
  output_(table_.Take(width_));
}

void QueryCsv::Begin(const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns) names.push_back(Printable(column));
  output_(CsvLine(names));
}

void QueryCsv::Add(QueryRow row) {
  std::vector<std::string> cells = CellsOf(row);
  for (std::string& cell : cells) cell = Printable(cell);
  output_(CsvLine(cells));
}

void QueryJson::Begin(const std::vector<std::string>& columns) {
  output_(R"({"columns":)" + JsonText(columns) + R"(,"rows":[)");
}

void QueryJson::Add(QueryRow row) {
  auto list = nlohmann::json::array();
  for (const QueryValue& value : row) list.push_back(JsonOf(value));
  output_((any_ ? "," : "") + JsonText(list));
  any_ = true;
}

void QueryJson::Finish(QueryEnd end) {
  output_("]");
  if (end != QueryEnd::kAll) output_(end == QueryEnd::kRowLimit ? R"(,"cut":"rows")" : R"(,"cut":"time")");
  output_("}");
}

}  // namespace lanescope::traces
