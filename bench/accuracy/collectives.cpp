// SPDX-License-Identifier: Apache-2.0
// collectives ROWS.csv: predicts every row of measured collectives by the law of its GPU, and prints how far
// off that is by class and against the goals. Rows have columns gpu, op, gpus, nodes, dtype, bytes and us.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/collective.h"
#include "core/machine/gpu_facts.h"

namespace {

using lanescope::Code;
using lanescope::Throw;

constexpr double kLeastBytes = 256, kLargeBytes = 16 << 20;
constexpr double kGoal = 0.15, kLargeGoal = 0.05;

std::vector<std::string_view> SplitLine(std::string_view line) {
  std::vector<std::string_view> cells;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(',', begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

struct Row {
  std::string gpu, op, dtype;
  int gpus = 2, nodes = 1;
  double bytes = 0, us = 0;
};

class RowReader {
 public:
  RowReader(const std::string& path, std::string_view header) : path_(path) {
    const std::vector<std::string_view> names = SplitLine(header);
    for (const char* name : {"gpu", "op", "dtype", "gpus", "nodes", "bytes", "us"}) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
        Throw(Code::kInvalidArgument, "{}: the first line has no column '{}'", path, name);
      columns_[name] = static_cast<size_t>(found - names.begin());
    }
  }

  Row Read(std::string_view line, int number) const {
    const std::vector<std::string_view> cells = SplitLine(line);
    const auto text = [&](const char* name) {
      const size_t column = columns_.at(name);
      if (column >= cells.size()) Throw(Code::kInvalidArgument, "{}:{}: no {}", path_, number, name);
      return cells[column];
    };
    const auto value = [&](const char* name, double high) {
      const std::string_view cell = text(name);
      double read = 0;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), read);
      if (error != std::errc() || end != cell.data() + cell.size() || !(read > 0 && read <= high))
        Throw(Code::kInvalidArgument, "{}:{}: {} is no number from 0 to {}", path_, number, name, high);
      return read;
    };
    Row row{std::string(text("gpu")), std::string(text("op")), std::string(text("dtype"))};
    row.gpus = static_cast<int>(value("gpus", 32768));
    row.nodes = static_cast<int>(value("nodes", 4096));
    row.bytes = value("bytes", 1e15);
    row.us = value("us", 1e12);
    return row;
  }

 private:
  std::string path_;
  std::map<std::string, size_t> columns_;
};

std::vector<Row> ReadRows(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) Throw(Code::kNotFound, "{}: cannot be read", path);
  const RowReader reader(path, line);
  std::vector<Row> rows;
  for (int number = 2; std::getline(file, line); ++number) {
    if (!line.empty()) rows.push_back(reader.Read(line, number));
  }
  return rows;
}

// None where no law is known for the row.
std::optional<double> PredictedUs(const Row& row) {
  std::string op = row.op;
  std::replace(op.begin(), op.end(), '_', '-');
  const auto kind = lanescope::ParseCollectiveKind(op);
  const lanescope::GpuFacts* gpu = lanescope::FindGpu(row.gpu);
  if (!kind || gpu == nullptr || gpu->law.empty()) return std::nullopt;
  lanescope::Cluster cluster;
  cluster.nodes = row.nodes;
  cluster.gpus_per_node = std::max(1, row.gpus / row.nodes);
  cluster.nics_per_node = cluster.gpus_per_node;
  cluster.nic_bandwidth = 50e9;
  cluster.fabric = gpu->name;
  cluster.switch_bandwidth = gpu->link_bandwidth > 0 ? gpu->link_bandwidth : gpu->pcie_bandwidth;
  lanescope::Collective collective;
  collective.kind = *kind;
  collective.bytes = static_cast<int64_t>(row.bytes);
  collective.ranks = {0, cluster.num_gpus(), 1};
  if (row.dtype == "int8") collective.dtype = lanescope::DataType::kInt8;
  return EstimateCollective(cluster, collective).ns * 1e-3;
}

struct Errors {
  double sum = 0, worst = 0;
  int rows = 0;

  void Add(double error) {
    sum += std::abs(error);
    if (std::abs(error) > std::abs(worst)) worst = error;
    ++rows;
  }
  double mean() const { return rows > 0 ? sum / rows : 0; }
};

using Class = std::tuple<std::string, std::string, int>;

// One line for each goal: the mean over all rows, and the classes that miss it by their own means.
void PrintVerdict(const std::map<Class, Errors>& classes, const char* range, double goal) {
  Errors all;
  std::string missed;
  int misses = 0;
  for (const auto& [name, errors] : classes) {
    if (errors.rows == 0) continue;
    all.sum += errors.sum;
    all.rows += errors.rows;
    if (std::abs(errors.worst) > std::abs(all.worst)) all.worst = errors.worst;
    if (errors.mean() <= goal) continue;
    ++misses;
    missed += fmt::format("{}{} {} {}", missed.empty() ? ": " : ", ", std::get<0>(name), std::get<1>(name),
                          std::get<2>(name));
  }
  fmt::print("{}: mean error {} of {} rows, worst {}; goal {} {}; {} of {} classes miss it{}\n", range,
             lanescope::PercentText(all.mean(), 1), all.rows, lanescope::SignedPercentText(all.worst),
             lanescope::PercentText(goal, 0), all.mean() <= goal ? "reached" : "missed", misses,
             classes.size(), missed);
}

void PrintErrors(const std::vector<Row>& rows) {
  std::map<Class, Errors> all, large;
  std::map<std::string, int> unknown;
  for (const Row& row : rows) {
    if (row.bytes < kLeastBytes) continue;
    const std::optional<double> predicted = PredictedUs(row);
    if (!predicted) {
      ++unknown[row.gpu];
      continue;
    }
    const Class name{row.gpu, row.op, row.gpus};
    const double error = *predicted / row.us - 1;
    all[name].Add(error);
    Errors& of_large = large[name];
    if (row.bytes > kLargeBytes) of_large.Add(error);
  }
  fmt::print("{:<14} {:<15} {:>4}  {:>5} {:>7} {:>8}  {:>7} {:>8}\n", "GPU", "Collective", "GPUs", "Rows",
             "Mean", "Worst", ">16 MiB", "Worst");
  for (const auto& [name, errors] : all) {
    const Errors& of_large = large[name];
    fmt::print("{:<14} {:<15} {:>4}  {:>5} {:>7} {:>8}  {:>7} {:>8}\n", std::get<0>(name), std::get<1>(name),
               std::get<2>(name), errors.rows, lanescope::PercentText(errors.mean(), 1),
               lanescope::SignedPercentText(errors.worst), lanescope::PercentText(of_large.mean(), 1),
               lanescope::SignedPercentText(of_large.worst));
  }
  for (const auto& [gpu, count] : unknown) fmt::print("{}: {} rows without a law\n", gpu, count);
  PrintVerdict(all, "from 256 B", kGoal);
  PrintVerdict(large, "above 16 MiB", kLargeGoal);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: collectives ROWS.csv\n");
    return 2;
  }
  try {
    PrintErrors(ReadRows(argv[1]));
    return 0;
  } catch (const lanescope::Error& error) {
    fmt::print(stderr, "error: {}: {}\n", lanescope::CodeName(error.code()), error.message());
    return 1;
  }
}
