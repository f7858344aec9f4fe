// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/layout_search.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/units.h"
#include "sims/megatron/gpt_memory.h"

namespace lanescope::sims::megatron {
namespace {

constexpr double kLargestMicroBatch = 64;

bool Divides(double part, double whole) { return std::fmod(whole, part) == 0; }

class LayoutSearch {
 public:
  LayoutSearch(const GptModel& model, const MegatronRules& rules, PipelineSchedule schedule)
      : model_(model), rules_(rules), schedule_(schedule) {}

  // All micro-batches of a layout.
  void Add(GptLayout layout) {
    for (double micro = 1; micro <= kLargestMicroBatch; ++micro) {
      if (!Divides(micro * layout.data, layout.batch)) continue;
      layout.micro_batch = micro;
      layout.recompute = !FitsWithoutRecomputing(model_, layout, rules_.gpu, schedule_);
      const double bytes = FullestStageOf(model_, layout, schedule_).bytes;
      if (bytes <= rules_.gpu.memory_bytes) {
        found_.push_back({layout, EstimateGptStep(model_, layout, rules_), bytes});
      } else if (least_.bytes == 0 || bytes < least_.bytes) {
        least_ = {layout, bytes};
      }
    }
  }

  // Best first.
  std::vector<FoundLayout> Take(int gpus, double batch) {
    if (found_.empty() && least_.bytes > 0) {
      const GptLayout& least = least_.layout;
      Throw(Code::kResourceExhausted,
            "no layout over {} GPUs fits their memory of {}; tensor {:.0f}, data {:.0f}, pipeline {:.0f}, "
            "micro-batch {:.0f} takes the least, {} with activations made again; take more GPUs",
            gpus, FormatBytes(WholeBytes(rules_.gpu.memory_bytes)), least.tensor, least.data, least.pipeline,
            least.micro_batch, FormatBytes(WholeBytes(least_.bytes)));
    }
    if (found_.empty()) {
      Throw(Code::kInvalidArgument,
            "no layout over {} GPUs divides {:.0f} layers, {:.0f} heads and {:.0f} sequences", gpus,
            model_.layers, model_.heads, batch);
    }
    std::stable_sort(found_.begin(), found_.end(), [](const FoundLayout& a, const FoundLayout& b) {
      return a.step.seconds < b.step.seconds;
    });
    return std::move(found_);
  }

 private:
  const GptModel& model_;
  const MegatronRules& rules_;
  const PipelineSchedule schedule_;
  std::vector<FoundLayout> found_;
  // The one that misses by the least, of those that do not fit.
  struct {
    GptLayout layout;
    double bytes = 0;
  } least_;
};

}  // namespace

std::vector<FoundLayout> SearchLayouts(const GptModel& model, double batch, int gpus,
                                       const MegatronRules& rules, PipelineSchedule schedule) {
  LayoutSearch search(model, rules, schedule);
  for (int tensor = 1; tensor <= std::min<double>(gpus, rules.cluster.gpus_per_node); ++tensor) {
    if (gpus % tensor != 0 || !Divides(tensor, model.heads)) continue;
    for (int pipeline = 1; pipeline <= gpus / tensor; ++pipeline) {
      if (gpus / tensor % pipeline != 0 || !Divides(pipeline, model.layers)) continue;
      search.Add({.batch = batch,
                  .tensor = static_cast<double>(tensor),
                  .data = static_cast<double>(gpus / tensor / pipeline),
                  .pipeline = static_cast<double>(pipeline)});
    }
  }
  return search.Take(gpus, batch);
}

}  // namespace lanescope::sims::megatron
