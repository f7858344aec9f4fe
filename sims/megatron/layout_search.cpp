#include "sims/megatron/layout_search.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace lanescope::sims::megatron {
namespace {

constexpr double kLargestMicroBatch = 64;

bool Divides(double part, double whole) { return std::fmod(whole, part) == 0; }

void AddLayouts(const GptModel& model, const MegatronRules& rules, GptLayout layout,
                std::vector<FoundLayout>* found) {
  for (double micro = 1; micro <= kLargestMicroBatch; ++micro) {
    if (!Divides(micro * layout.data, layout.batch)) continue;
    layout.micro_batch = micro;
    layout.recompute = false;
    if (!FitsWithoutRecomputing(model, layout, rules.gpu)) layout.recompute = true;
    const double bytes = GptMemoryBytes(model, layout);
    if (bytes <= rules.gpu.memory_bytes)
      found->push_back({layout, EstimateGptStep(model, layout, rules), bytes});
  }
}

}  // namespace

std::vector<FoundLayout> SearchLayouts(const GptModel& model, double batch, int gpus,
                                       const MegatronRules& rules) {
  std::vector<FoundLayout> found;
  for (int tensor = 1; tensor <= std::min<double>(gpus, rules.cluster.gpus_per_node); ++tensor) {
    if (gpus % tensor != 0 || !Divides(tensor, model.heads)) continue;
    for (int pipeline = 1; pipeline <= gpus / tensor; ++pipeline) {
      if (gpus / tensor % pipeline != 0 || !Divides(pipeline, model.layers)) continue;
      GptLayout layout{.batch = batch,
                       .tensor = static_cast<double>(tensor),
                       .data = static_cast<double>(gpus / tensor / pipeline),
                       .pipeline = static_cast<double>(pipeline)};
      AddLayouts(model, rules, layout, &found);
    }
  }
  if (found.empty()) {
    Throw(
        Code::kInvalidArgument,
        "no layout over {} GPUs divides {:.0f} layers, {:.0f} heads and {:.0f} sequences and fits {:.0f} GB "
        "a GPU",
        gpus, model.layers, model.heads, batch, rules.gpu.memory_bytes / 1e9);
  }
  std::stable_sort(found.begin(), found.end(), [](const FoundLayout& a, const FoundLayout& b) {
    return a.step.seconds < b.step.seconds;
  });
  return found;
}

}  // namespace lanescope::sims::megatron
