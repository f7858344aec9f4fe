// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/fused_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/schedule/fusion.h"
#include "core/schedule/row_products.h"
#include "exec/cuda/fused_products.h"
#include "exec/cuda/fused_unit.h"
#include "exec/cuda/product_tiles.h"

namespace lanescope::exec::cuda {
namespace {

constexpr std::string_view kBeginning = R"(#include "exec/functors/binary.h"
#include "exec/functors/cast.h"
#include "exec/functors/gradient.h"
#include "exec/functors/optimizer.h"

namespace f = lanescope::exec::functors;
using Entry = unsigned long long;

// Joins the values of `lanes` threads side by side, for each of them. All threads of the block call it.
template <int lanes, typename Join, typename T>
__device__ T Joined(T value) {
  __shared__ T part[kThreads];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % lanes;
  __syncthreads();
  part[thread] = value;
  __syncthreads();
  for (int width = lanes / 2; width > 0; width /= 2) {
    if (lane < width) part[thread] = Join()(part[thread], part[thread + width]);
    __syncthreads();
  }
  return part[thread - lane];
}
)";

// The table has the first block of every job, then where its own entries begin: its body's number, then what
// the body reads. `jobs` and what TABLE stands for are written before this.
constexpr std::string_view kEnd = R"(
extern "C" __global__ void __launch_bounds__(kThreads) fused(TABLE table) {
  const Entry* entries = ENTRIES;
  const long long block = blockIdx.x;
  int first = 0, end = kJobs;
  while (end - first > 1) {
    const int middle = (first + end) / 2;
    if (static_cast<long long>(entries[middle]) <= block) {
      first = middle;
    } else {
      end = middle;
    }
  }
  const Entry* own = entries + entries[kJobs + first];
  const long long own_block = block - static_cast<long long>(entries[first]);
)";

// Nodes that run together; assignments that have nothing left to do are in none.
std::vector<std::vector<size_t>> UnitsOf(const Graph& graph, const Schedule& schedule,
                                         const Command& command) {
  const auto nodes = schedule.FusedNodes(command);
  const std::vector<int> group = BlockGroups(graph, nodes);
  std::map<int, std::vector<size_t>> units;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (FusionRoleOf(graph.node(nodes[i].node)) != FusionRole::kAssign) units[group[i]].push_back(i);
  }
  std::vector<std::vector<size_t>> listed;
  for (auto& [number, members] : units) listed.push_back(std::move(members));
  return listed;
}

class LaunchWriter {
 public:
  LaunchWriter(const Graph& graph, const Schedule& schedule, const Command& command, int threads)
      : graph_(graph), schedule_(schedule), command_(command), threads_(threads) {}

  FusedText Write() {
    for (const std::vector<size_t>& unit : UnitsOf(graph_, schedule_, command_))
      Add(WriteUnitText(graph_, schedule_, command_, unit, threads_));
    return Finish("");
  }
  // A body that is written already, after what it calls.
  FusedText Write(UnitText text, const std::string& helpers) {
    Add(std::move(text));
    return Finish(helpers);
  }

 private:
  struct Job {
    size_t body;
    UnitText text;
  };

  void Add(UnitText text) {
    const auto body = bodies_.try_emplace(text.body, bodies_.size()).first;
    jobs_.push_back({static_cast<size_t>(body->second), std::move(text)});
  }
  FusedText Finish(const std::string& helpers) {
    FillTable();
    result_.text = Text(helpers);
    result_.threads = threads_;
    return std::move(result_);
  }

  void FillTable() {
    std::vector<uint64_t>& table = result_.table;
    table.assign(2 * jobs_.size(), 0);
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const UnitText& text = jobs_[i].text;
      table[i] = static_cast<uint64_t>(result_.blocks);
      table[jobs_.size() + i] = table.size();
      table.push_back(jobs_[i].body);
      table.push_back(static_cast<uint64_t>(text.count));
      for (FusedPointer pointer : text.pointers) {
        pointer.entry = table.size();
        table.push_back(0);
        result_.pointers.push_back(pointer);
      }
      result_.blocks += text.blocks;
    }
  }

  std::string Text(const std::string& helpers) const {
    std::string text =
        fmt::format("constexpr int kThreads = {};\nconstexpr int kJobs = {};\n", threads_, jobs_.size());
    if (result_.by_value()) {
      text += fmt::format("struct Table {{ unsigned long long at[{}]; }};\n", result_.table.size()) +
              "#define TABLE const __grid_constant__ Table\n#define ENTRIES table.at\n";
    } else {
      text += "#define TABLE const Entry*\n#define ENTRIES table\n";
    }
    text += kBeginning;
    text += helpers;
    std::vector<std::string_view> bodies(bodies_.size());
    for (const auto& [body, number] : bodies_) bodies[number] = body;
    for (size_t i = 0; i < bodies.size(); ++i) {
      text +=
          fmt::format("\n__device__ void Body{}(const Entry* at, long long block) {{\n{}}}\n", i, bodies[i]);
    }
    text += kEnd;
    text += "  switch (own[0]) {\n";
    for (size_t i = 0; i < bodies.size(); ++i)
      text += fmt::format("    case {}:\n      Body{}(own + 1, own_block);\n      break;\n", i, i);
    return text + "  }\n}\n";
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const Command& command_;
  const int threads_;
  std::map<std::string, size_t> bodies_;  // by text: its number
  std::vector<Job> jobs_;
  FusedText result_;
};

}  // namespace

FusedTexts WriteFusedTexts(const Graph& graph, const Schedule& schedule, const Command& command,
                           int threads) {
  FusedTexts texts;
  if (!MatricesOfLaunch(graph, schedule.FusedNodes(command))) {
    texts.kernels.push_back(LaunchWriter(graph, schedule, command, threads).Write());
    return texts;
  }
  const auto units = UnitsOf(graph, schedule, command);
  if (units.size() != 1) Throw(Code::kInternal, "a launch with products has nodes that it does not serve");
  ProductTexts products = WriteProductTexts(graph, schedule, command, units[0]);
  for (UnitText& text : products.kernels) {
    texts.kernels.push_back(LaunchWriter(graph, schedule, command, kProductThreads)
                                .Write(std::move(text), ProductTilesText(products.dtype)));
  }
  texts.row_arrays = products.row_arrays;
  texts.row_bytes = products.row_bytes;
  return texts;
}

}  // namespace lanescope::exec::cuda
