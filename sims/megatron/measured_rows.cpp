#include "sims/megatron/measured_rows.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "core/base/error.h"
#include "core/base/file.h"

namespace lanescope::sims::megatron {
namespace {

std::vector<std::string> SplitLine(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
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
    return row;
  }

 private:
  double Number(const char* name) const {
    const auto found = columns_.find(name);
    if (found == columns_.end()) Fail(fmt::format("there is no column \"{}\"", name));
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
  std::istringstream in(ReadFile(path));
  std::string line;
  std::getline(in, line);
  RowReader reader(path, SplitLine(line));
  std::vector<MeasuredRow> rows;
  for (int number = 2; std::getline(in, line); ++number) {
    const std::vector<std::string> cells = SplitLine(line);
    if (!cells.empty()) rows.push_back(reader.Read(cells, number));
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
