// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/measured_rows.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "core/base/error.h"
#include "core/base/file.h"
#include "sims/megatron/gpt_memory.h"

namespace lanescope::sims::megatron {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Cells without blanks around them and without quotes; none in a line that says nothing.
std::vector<std::string> SplitLine(const std::string& line) {
  std::vector<std::string> cells{""};
  bool quoted = false, any = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  for (std::string& cell : cells) {
    cell = std::string(Trimmed(cell));
    any |= !cell.empty();
  }
  if (!any) cells.clear();
  return cells;
}

class RowReader {
 public:
  RowReader(const std::string& path, const std::vector<std::string>& names) : path_(path) {
    for (size_t c = 0; c < names.size(); ++c) columns_.emplace(names[c], c);
  }

  MeasuredRow Read(const std::vector<std::string>& cells, int line) {
    line_ = line;
    cells_ = &cells;
    MeasuredRow row;
    row.model = {.layers = Number("# layers"),
                 .hidden = Number("hidden size"),
                 .heads = Number("attention heads"),
                 .sequence = Number("sequence length")};
    row.layout = {.batch = Number("global batch"),
                  .micro_batch = Number("micro batch"),
                  .tensor = Number("tensor parallelism"),
                  .data = Number("data parallelism"),
                  .pipeline = Number("pipeline parallelism")};
    row.measured_ms = Number("iteration time (ms)");
    if (row.layout.gpus() != Number("# GPUs")) Fail("the three parallelisms do not make up \"# GPUs\"");
    try {
      EstimateGptStep(row.model, row.layout);
    } catch (const Error& error) {
      Fail(error.message());
    }
    return row;
  }

 private:
  double Number(const char* name) const {
    const auto found = columns_.find(name);
    if (found == columns_.end())
      Fail(fmt::format("there is no column \"{}\"; the first line names columns with commas between", name));
    if (found->second >= cells_->size()) Fail(fmt::format("\"{}\" is missing", name));
    const std::string& text = (*cells_)[found->second];
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0' || !std::isfinite(number) || number <= 0)
      Fail(fmt::format("\"{}\" is no number above 0", name));
    return number;
  }
  [[noreturn]] void Fail(const std::string& what) const {
    Throw(Code::kInvalidArgument, "{}, line {}: {}", path_, line_, what);
  }

  const std::string path_;
  std::map<std::string, size_t> columns_;
  const std::vector<std::string>* cells_ = nullptr;
  int line_ = 1;
};

}  // namespace

std::vector<MeasuredRow> ReadMeasuredRows(const std::string& path, const Gpu& gpu) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string text = ReadFile(path);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  std::istringstream in(text);
  std::optional<RowReader> reader;
  std::vector<MeasuredRow> rows;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::vector<std::string> cells = SplitLine(line);
    if (cells.empty()) continue;
    if (reader) {
      rows.push_back(reader->Read(cells, number));
    } else {
      reader.emplace(path, cells);
    }
  }
  if (rows.empty()) Throw(Code::kInvalidArgument, "{} holds no rows", path);
  const auto model_of = [](const MeasuredRow& row) {
    return std::tuple(row.model.layers, row.model.hidden, row.model.heads, row.model.sequence);
  };
  std::set<std::tuple<double, double, double, double>> recomputed;
  for (const MeasuredRow& row : rows) {
    if (!FitsWithoutRecomputing(row.model, row.layout, gpu)) recomputed.insert(model_of(row));
  }
  for (MeasuredRow& row : rows) row.layout.recompute = recomputed.contains(model_of(row));
  return rows;
}

}  // namespace lanescope::sims::megatron
