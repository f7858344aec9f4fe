// SPDX-License-Identifier: Apache-2.0
#include "cli/stage_memory.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/line_width.h"
#include "cli/print.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "sims/megatron/gpt_memory.h"

namespace lanescope::cli {
namespace {

using sims::megatron::GptMemory;

std::string BytesText(double bytes) { return FormatBytes(sims::megatron::WholeBytes(bytes)); }

}  // namespace

void PrintStageMemory(const sims::megatron::GptOrigin& origin) {
  constexpr size_t kShown = 16;  // stages: the first of them, and the last
  const std::vector<GptMemory> stages = GptMemoryByStage(origin.model, origin.layout, origin.schedule);
  TextTable table;
  table.Number("Stage").Number("Weights").Number("Gradients").Number("Optimizer").Number("Activations");
  table.Number("Of micro-batches").Number("Logits").Number("Memory of a GPU");
  for (size_t s = 0; s < stages.size(); ++s) {
    if (stages.size() > kShown && s + 1 >= kShown && s + 1 < stages.size()) continue;
    const GptMemory& m = stages[s];
    table.Row({fmt::format("{}", s), BytesText(m.weights), BytesText(m.gradients), BytesText(m.optimizer),
               BytesText(m.activations), fmt::format("{:.0f}", m.in_flight),
               m.logits > 0 ? BytesText(m.logits) : "-", BytesText(m.bytes())});
  }
  PrintText(table.Take(LineWidth()));
  if (stages.size() > kShown)
    Print(
        "stages {} to {} hold what the one before them holds, with activations of a micro-batch less each\n",
        kShown - 1, stages.size() - 2);
}

void NoteTooLarge(const sims::megatron::GptOrigin& origin) {
  const double limit = sims::megatron::Gpu().memory_bytes;
  const auto fullest = FullestStageOf(origin.model, origin.layout, origin.schedule);
  if (fullest.bytes <= limit) return;
  PrintNote(
      "note: a GPU of stage {} holds {}, more than the {:.0f} GB of an A100: take more tensor-parallel GPUs "
      "or "
      "stages, smaller micro-batches{}\n",
      fullest.stage, BytesText(fullest.bytes), limit / 1e9,
      origin.layout.recompute ? "" : ", or make activations again (--recompute full)");
}

nlohmann::json StageMemoryJson(const sims::megatron::GptOrigin& origin) {
  nlohmann::json stages = nlohmann::json::array();
  for (const GptMemory& m : GptMemoryByStage(origin.model, origin.layout, origin.schedule)) {
    stages.push_back({{"weights_bytes", static_cast<int64_t>(m.weights)},
                      {"gradients_bytes", static_cast<int64_t>(m.gradients)},
                      {"optimizer_bytes", static_cast<int64_t>(m.optimizer)},
                      {"activations_bytes", static_cast<int64_t>(m.activations)},
                      {"micro_batches", static_cast<int64_t>(m.in_flight)},
                      {"logits_bytes", static_cast<int64_t>(m.logits)},
                      {"memory_bytes", static_cast<int64_t>(m.bytes())}});
  }
  return stages;
}

}  // namespace lanescope::cli
