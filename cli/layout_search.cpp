// SPDX-License-Identifier: Apache-2.0
#include "cli/layout_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/gpt_file.h"
#include "cli/interrupt.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/stage_memory.h"
#include "core/base/error.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/record/recorder.h"
#include "sims/megatron/gpt_graph.h"
#include "sims/megatron/layout_search.h"
#include "study/base/json_text.h"
#include "study/predict/predictor.h"
#include "study/workload/placing.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using sims::megatron::FoundLayout;
using sims::megatron::GptLayout;
using sims::megatron::GptOrigin;

constexpr size_t kSimulated = 8, kShown = 12;

struct Row {
  FoundLayout found;
  std::optional<int64_t> simulated_ns;
  bool too_large = false;  // for the machine's memory, when it was planned tensor by tensor
  int64_t step_ns() const { return simulated_ns.value_or(static_cast<int64_t>(found.step.seconds * 1e9)); }
};

// The memory of the smallest of the graph's GPUs, where a machine says it.
sims::megatron::MegatronRules RulesOn(const Machine* machine) {
  sims::megatron::MegatronRules rules;
  if (machine == nullptr) return rules;
  double least = 0;
  for (const DeviceId gpu : machine->Gpus()) {
    const auto bytes = static_cast<double>(machine->device(gpu).memory_bytes);
    if (bytes > 0 && (least == 0 || bytes < least)) least = bytes;
  }
  if (least > 0) rules.gpu.memory_bytes = least;
  return rules;
}

std::string NameOf(const GptLayout& layout) {
  return fmt::format("tensor {:.0f} data {:.0f} pipeline {:.0f} micro-batch {:.0f}{}", layout.tensor,
                     layout.data, layout.pipeline, layout.micro_batch,
                     layout.recompute ? " recomputing" : "");
}

bool IsSame(const GptLayout& a, const GptLayout& b) {
  return a.tensor == b.tensor && a.data == b.data && a.pipeline == b.pipeline &&
         a.micro_batch == b.micro_batch;
}

// Empty where the plan of its tensors does not fit.
std::optional<int64_t> Simulate(const GptOrigin& origin, const GptLayout& layout,
                                const study::Predictor& predictor) {
  StepGraph step = WriteGptStep(origin.model, layout, origin.schedule, {},
                                NodesOfGptStep(origin.model, layout) > kMostUnfoldedGptNodes);
  const study::Workload workload("layout", std::move(step.graph), std::move(step.spec));
  const study::PlacedGraph placed =
      study::Place(workload, "annotated", predictor.machine(), predictor.costs());
  try {
    const Schedule schedule = CompileStep(placed, predictor.machine());
    return predictor.Predict(workload, schedule, {.draws = 0}).step_ns;
  } catch (const Error& error) {
    if (error.code() != Code::kResourceExhausted) throw;
    PrintNote("note: {}: {}\n", NameOf(layout), error.message());
    return std::nullopt;
  }
}

// The model's arithmetic, forward and twice that backward, at the peak of all GPUs.
double PeakSeconds(const GptOrigin& origin) {
  const sims::megatron::GptModel& m = origin.model;
  const double tokens = origin.layout.batch * m.sequence;
  const double products = 12 * m.layers * m.hidden * m.hidden + m.vocabulary * m.hidden;
  const double attention = 2 * m.layers * m.sequence * m.hidden;
  const double peak = sims::megatron::MegatronRules().gpu.flops * origin.layout.gpus();
  return 6 * tokens * (products + attention / 2) / peak;
}

json LayoutJson(const Row& row) {
  const GptLayout& layout = row.found.layout;
  json result = {{"strategy", NameOf(layout)},
                 {"step_ns", row.step_ns()},
                 {"by_rules_ns", static_cast<int64_t>(row.found.step.seconds * 1e9)},
                 {"memory_bytes", static_cast<int64_t>(row.found.memory_bytes)}};
  for (const auto& [name, value] : {std::pair<const char*, double>{"tensor", layout.tensor},
                                    {"data", layout.data},
                                    {"pipeline", layout.pipeline},
                                    {"micro_batch", layout.micro_batch}})
    result[name] = static_cast<int64_t>(value);
  result["recompute"] = layout.recompute;
  return result;
}

}  // namespace

void SearchGptLayouts(const std::string& graph, const GptOrigin& origin, const Machine* machine,
                      const std::string& output, bool as_json) {
  if (!output.empty()) RequireGraphFile(output);
  const int64_t start = NowNs();
  const sims::megatron::MegatronRules rules = RulesOn(machine);
  const std::vector<FoundLayout> found = sims::megatron::SearchLayouts(
      origin.model, origin.layout.batch, static_cast<int>(origin.layout.gpus()), rules, origin.schedule);
  std::vector<Row> rows;
  for (const FoundLayout& layout : found) {
    const bool own = IsSame(layout.layout, origin.layout);
    if (rows.size() < kShown || own) rows.push_back({layout, std::nullopt});
  }
  const bool simulate =
      machine != nullptr && static_cast<double>(machine->Gpus().size()) >= origin.layout.gpus();
  if (machine != nullptr && !simulate) {
    PrintNote("note: the machine has {} GPUs and the layouts take {:.0f}: they are ranked by rules alone\n",
              machine->Gpus().size(), origin.layout.gpus());
  }
  if (simulate) {
    const study::Predictor predictor(*machine);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i >= kSimulated && !IsSame(rows[i].found.layout, origin.layout)) continue;
      if (Interruption().cancelled()) break;
      rows[i].simulated_ns = Simulate(origin, rows[i].found.layout, predictor);
      rows[i].too_large = !rows[i].simulated_ns;
    }
    std::erase_if(rows, [](const Row& row) { return row.too_large; });
    if (rows.empty()) {
      Throw(Code::kResourceExhausted,
            "none of the best {} layouts fits the machine's memory; take more GPUs or smaller micro-batches",
            kSimulated);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      if (a.simulated_ns.has_value() != b.simulated_ns.has_value()) return a.simulated_ns.has_value();
      return a.step_ns() < b.step_ns();
    });
  }
  const Row& best = rows.front();
  if (!output.empty()) WriteGptFile({origin.model, best.found.layout, origin.schedule}, "auto", output);
  const double seconds = static_cast<double>(NowNs() - start) * 1e-9;
  const double bound = PeakSeconds(origin);
  if (as_json) {
    json listed = json::array();
    for (const Row& row : rows) listed.push_back(LayoutJson(row));
    json of_best = LayoutJson(best);
    of_best["placement"] = nullptr;
    PrintJson(
        study::JsonText({{"best", of_best},
                         {"lower_bound_ns", static_cast<int64_t>(bound * 1e9)},
                         {"lower_bound_by", "peak arithmetic"},
                         {"gap", static_cast<double>(best.step_ns()) * 1e-9 / bound - 1},
                         {"evaluations", found.size()},
                         {"evaluations_per_s", static_cast<double>(found.size()) / seconds},
                         {"layouts", listed},
                         {"stages", StageMemoryJson({origin.model, best.found.layout, origin.schedule})},
                         {"verified", json::array()}}));
  } else {
    Print("{}: {} layouts over {:.0f} GPUs\n\n", graph, found.size(), origin.layout.gpus());
    TextTable table;
    table.Name("Layout").Number("Memory of a GPU").Number("By rules").Number("Simulated").Number("Of best");
    for (const Row& row : rows) {
      const std::string own = IsSame(row.found.layout, origin.layout) ? " (the graph's)" : "";
      table.Row(
          {NameOf(row.found.layout) + own, FormatBytes(static_cast<int64_t>(row.found.memory_bytes)),
           TimeText(row.found.step.seconds * 1e9),
           row.simulated_ns ? TimeText(*row.simulated_ns) : std::string("-"),
           fmt::format("{:.3f}x", static_cast<double>(row.step_ns()) / static_cast<double>(best.step_ns()))});
    }
    table.Row({"lower bound: the model's arithmetic at the GPUs' peak", "", TimeText(bound * 1e9), "",
               fmt::format("{:.3f}x", bound * 1e9 / static_cast<double>(best.step_ns()))});
    PrintText(table.Take(LineWidth()));
    Print("\nMemory of the best:\n");
    PrintStageMemory({origin.model, best.found.layout, origin.schedule});
    if (!output.empty()) Print("\ngraph of the best: {}\n", output);
  }
  Interruption().Check();
}

}  // namespace lanescope::cli
