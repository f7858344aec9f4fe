#include "traces/query_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/printable.h"

namespace lanescope {
namespace {

constexpr size_t kMaxColumnWidth = 60;
constexpr size_t kSampledRows = 1000;

std::string CellText(const QueryValue& value) {
  std::string text;
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    text = fmt::format("{}", *integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    text = fmt::format("{}", *real);
  } else if (const auto* string = std::get_if<std::string>(&value)) {
    text = Printable(*string);
  }
  if (text.size() <= kMaxColumnWidth) return text;
  size_t cut = kMaxColumnWidth - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  return text.substr(0, cut) + "...";
}

// Code points, so that columns of UTF-8 text line up.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool IsNumber(const QueryValue& value) { return value.index() == 1 || value.index() == 2; }

void AppendCell(const std::string& text, size_t width, bool right, bool last, std::string* line) {
  const std::string padding(width - std::min(width, WidthOf(text)), ' ');
  if (right) *line += padding;
  *line += text;
  if (!right && !last) *line += padding;
  if (!last) *line += "  ";
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

void QueryTable::Begin(const std::vector<std::string>& columns) {
  columns_ = columns;
  for (const std::string& name : columns_) widths_.push_back(WidthOf(name));
  right_.assign(columns_.size(), false);
}

void QueryTable::Add(QueryRow row) {
  std::vector<std::string> cells;
  for (const QueryValue& value : row) cells.push_back(CellText(value));
  if (!sampling_) return PrintLine(cells);
  for (size_t i = 0; i < cells.size(); ++i) {
    widths_[i] = std::max(widths_[i], WidthOf(cells[i]));
    if (IsNumber(row[i])) right_[i] = true;
  }
  sample_.push_back(std::move(cells));
  if (sample_.size() == kSampledRows) PrintSample();
}

void QueryTable::Finish() {
  if (sampling_) PrintSample();
}

void QueryTable::PrintSample() {
  sampling_ = false;
  PrintLine(columns_);
  std::vector<std::string> rules;
  for (const size_t width : widths_) rules.emplace_back(width, '-');
  PrintLine(rules);
  for (const auto& cells : sample_) PrintLine(cells);
  sample_ = {};
}

void QueryTable::PrintLine(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    AppendCell(cells[i], widths_[i], right_[i], i + 1 == cells.size(), &line);
  }
  output_(line + '\n');
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

}  // namespace lanescope
