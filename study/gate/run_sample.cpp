// SPDX-License-Identifier: Apache-2.0
#include "study/gate/run_sample.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/edit_distance.h"
#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/machine/machine.h"
#include "core/runs/step_path.h"
#include "traces/replay/glob.h"

namespace lanescope::study {
namespace {

constexpr size_t kBatches = 8;                    // of a run's steps, for the error of their mean
constexpr size_t kStepsOfABatch = kFewSteps / 2;  // the fewest that say anything of what is usual

double MeanOfMiddleHalf(std::vector<double> values) {
  const std::vector<double> middle = MiddleHalf(std::move(values), [](double value) { return value; });
  return std::accumulate(middle.begin(), middle.end(), 0.0) / static_cast<double>(middle.size());
}

double MeanOfFastestTenth(std::vector<double> values) {
  const auto end = values.begin() + static_cast<std::ptrdiff_t>((values.size() + 9) / 10);
  std::partial_sort(values.begin(), end, values.end());
  return std::accumulate(values.begin(), end, 0.0) / static_cast<double>(end - values.begin());
}

double SquaresAroundMean(const std::vector<double>& values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [&](double sum, double value) { return sum + (value - mean) * (value - mean); });
}

// For a median: one step of three may have been held up for as long as it likes. The median of the distances
// to it times 1.4826 is the standard deviation of a normal distribution, and the variance of its median is pi
// / 2 times that of its mean.
double ErrorOfFew(const std::vector<double>& values, double usual) {
  const auto count = static_cast<double>(values.size());
  const double median = Median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - median));
  const double seen = (count - 1) * std::pow(1.4826 * Median(distances), 2);
  const double assumed = kAssumedFreedom * std::pow(kAssumedOfStep * usual, 2);
  const double of_median = count > 2 ? std::numbers::pi / 2 : 1;
  return std::sqrt((seen + assumed) / (count - 1 + kAssumedFreedom) * of_median / count);
}

double MiddleOf(std::vector<double> values) {
  return values.size() < kFewSteps ? Median(std::move(values)) : MeanOfMiddleHalf(std::move(values));
}

// `mean_of`: what stands for several steps.
template <typename MeanOf>
QuantitySample SampleOf(std::vector<double> values, MeanOf mean_of) {
  QuantitySample sample;
  sample.value = sample.scale = mean_of(values);
  const size_t batches = std::min(kBatches, values.size() / kStepsOfABatch);
  if (batches < 2) {
    sample.error = ErrorOfFew(values, sample.value);
    return sample;
  }
  // Means of stretches of steps: what correlates neighbours stays within a stretch.
  std::vector<double> means;
  for (size_t b = 0; b < batches; ++b) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(b * values.size() / batches);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>((b + 1) * values.size() / batches);
    means.push_back(mean_of({begin, end}));
  }
  sample.error = std::sqrt(SquaresAroundMean(means) / static_cast<double>(batches * (batches - 1)));
  return sample;
}

// The steps of a run that count, as sums per quantity.
class StepSums {
 public:
  explicit StepSums(const RunView& view) : view_(view) {
    for (size_t i = 0; i < view.steps.size(); ++i) {
      if (!view.steps[i].counts) continue;
      if (!view.whole) number_[view.steps[i].number] = static_cast<int>(counted_.size());
      counted_.push_back(i);
    }
    if (counted_.empty())
      Throw(Code::kFailedPrecondition, "run {} has no steps, and nothing that ran; record some", view.run);
  }

  size_t size() const { return counted_.size(); }
  const RunView::Step& step(size_t i) const { return view_.steps[counted_[i]]; }
  // Among those that count; -1: in none of them.
  int StepOf(const SliceColumns& slices, size_t slice) const {
    const int32_t said = slices.StepOf(slice);
    if (said >= 0 && !view_.whole) {
      const auto found = number_.find(said);
      return found == number_.end() ? -1 : found->second;
    }
    const int64_t start = slices.start_ns[slice];
    const auto after =
        std::ranges::upper_bound(counted_, start, {}, [&](size_t i) { return view_.steps[i].start_ns; });
    if (after == counted_.begin()) return -1;
    const auto i = static_cast<size_t>(after - counted_.begin()) - 1;
    return start < step(i).end_ns || step(i).start_ns == step(i).end_ns ? static_cast<int>(i) : -1;
  }
  // Adds up the lengths of the slices that `takes`.
  template <typename Takes>
  std::vector<double> SumOf(Takes takes) const {
    std::vector<double> sums(size());
    for (const RunView::Lane& lane : view_.lanes) {
      for (size_t slice = 0; slice < lane.slices->size(); ++slice) {
        if (!takes(lane, slice)) continue;
        const int i = StepOf(*lane.slices, slice);
        if (i < 0) continue;
        sums[static_cast<size_t>(i)] +=
            static_cast<double>(lane.slices->end_ns[slice] - lane.slices->start_ns[slice]);
      }
    }
    return sums;
  }
  std::vector<double> Lengths() const {
    std::vector<double> lengths;
    for (size_t i = 0; i < size(); ++i)
      lengths.push_back(static_cast<double>(step(i).end_ns - step(i).start_ns));
    return lengths;
  }

 private:
  const RunView& view_;
  std::vector<size_t> counted_;  // indexes into the run's steps, by start
  std::unordered_map<int, int> number_;
};

const RunView::Op* OpOf(const RunView& view, const RunView::Lane& lane, size_t slice) {
  const int32_t op = lane.slices->op[slice];
  return op < 0 ? nullptr : &view.ops[static_cast<size_t>(op)];
}

bool IsCollective(const RunView& view, const RunView::Lane& lane, size_t slice) {
  if (lane.copies) return LeavesItsDevice(view, lane, static_cast<uint32_t>(slice));
  const RunView::Op* op = OpOf(view, lane, slice);
  return op != nullptr && op->communication;
}

using Stretches = std::vector<std::pair<int64_t, int64_t>>;

// When something ran on each device that counts for idle time.
std::vector<Stretches> StretchesOf(const RunView& view) {
  const auto is_host = [&](int number) {
    const RunView::Device& device = view.devices[static_cast<size_t>(number)];
    return device.id < 0 || device.kind == DeviceKindName(DeviceKind::kHost);
  };
  const bool hosts_alone =
      std::ranges::all_of(view.lanes, [&](const RunView::Lane& lane) { return is_host(lane.device); });
  std::map<int, Stretches> ran;
  for (const RunView::Lane& lane : view.lanes) {
    if (is_host(lane.device) && !hosts_alone) continue;
    Stretches& of_device = ran[lane.device];
    for (size_t i = 0; i < lane.slices->size(); ++i)
      of_device.emplace_back(lane.slices->start_ns[i], lane.slices->end_ns[i]);
  }
  std::vector<Stretches> busy;
  for (auto& [device, stretches] : ran) {
    std::ranges::sort(stretches);
    Stretches joined;
    for (const auto& [start, end] : stretches) {
      if (!joined.empty() && start <= joined.back().second) {
        joined.back().second = std::max(joined.back().second, end);
      } else {
        joined.emplace_back(start, end);
      }
    }
    busy.push_back(std::move(joined));
  }
  return busy;
}

int64_t Covered(const Stretches& busy, int64_t start, int64_t end) {
  auto at = std::ranges::partition_point(busy, [&](const auto& stretch) { return stretch.second <= start; });
  int64_t covered = 0;
  for (; at != busy.end() && at->first < end; ++at)
    covered += std::min(end, at->second) - std::max(start, at->first);
  return covered;
}

std::vector<double> IdleOf(const RunView& view, const StepSums& steps) {
  std::vector<double> idle = steps.Lengths();
  const std::vector<Stretches> busy = StretchesOf(view);
  for (size_t i = 0; i < steps.size(); ++i) {
    int64_t covered = 0;
    for (const Stretches& of_device : busy)
      covered += Covered(of_device, steps.step(i).start_ns, steps.step(i).end_ns);
    idle[i] -= static_cast<double>(covered) / static_cast<double>(std::max<size_t>(1, busy.size()));
  }
  return idle;
}

std::vector<double> TimesOfOp(const RunView& view, const StepSums& steps, const std::string& pattern) {
  std::vector<char> named;
  for (const RunView::Op& op : view.ops) named.push_back(traces::MatchesGlob(pattern, op.name));
  bool runs = false;
  std::vector<double> times = steps.SumOf([&](const RunView::Lane& lane, size_t slice) {
    const int32_t op = lane.slices->op[slice];
    const bool takes = op >= 0 && named[static_cast<size_t>(op)] != 0;
    runs = runs || takes;
    return takes;
  });
  if (runs) return times;
  std::string_view likely;
  size_t best = pattern.size() / 2 + 1;
  for (const RunView::Op& op : view.ops) {
    const size_t distance = EditDistance(pattern, op.name, best);
    if (distance < best) std::tie(best, likely) = std::pair(distance, op.name);
  }
  Throw(Code::kNotFound, "no op '{}' runs in run {}{}", pattern, view.run,
        likely.empty() ? "; `lanescope summary` lists them" : fmt::format("; did you mean '{}'?", likely));
}

std::vector<double> ValuesOf(const RunView& view, const StepSums& steps, const Quantity& quantity) {
  switch (quantity.kind) {
    case Quantity::Kind::kKernels:
      return steps.SumOf([&](const RunView::Lane& lane, size_t slice) {
        return !lane.copies && !IsCollective(view, lane, slice);
      });
    case Quantity::Kind::kCollectives:
      return steps.SumOf(
          [&](const RunView::Lane& lane, size_t slice) { return IsCollective(view, lane, slice); });
    case Quantity::Kind::kIdle:
      return IdleOf(view, steps);
    case Quantity::Kind::kOp:
      return TimesOfOp(view, steps, quantity.op);
    case Quantity::Kind::kStep:
    case Quantity::Kind::kFastest:
    case Quantity::Kind::kMemory:
    case Quantity::Kind::kWall:
      break;
  }
  return steps.Lengths();
}

}  // namespace

QuantitySample TypicalOf(std::vector<double> values) { return SampleOf(std::move(values), MiddleOf); }

QuantitySample FastestOf(std::vector<double> values) {
  return SampleOf(std::move(values), MeanOfFastestTenth);
}

RunSample SampleRun(const RunView& view, int64_t peak_bytes, std::span<const Quantity> quantities) {
  const StepSums steps(view);
  RunSample sample{.steps = static_cast<int64_t>(steps.size()), .of = {}};
  for (const Quantity& quantity : quantities) {
    if (quantity.kind == Quantity::Kind::kMemory) {
      const auto bytes = static_cast<double>(peak_bytes);
      sample.of.push_back({bytes, bytes, 0});
      continue;
    }
    std::vector<double> values = ValuesOf(view, steps, quantity);
    sample.of.push_back(quantity.kind == Quantity::Kind::kFastest ? FastestOf(std::move(values))
                                                                  : TypicalOf(std::move(values)));
    if (quantity.kind == Quantity::Kind::kIdle) sample.of.back().scale = TypicalOf(steps.Lengths()).value;
  }
  return sample;
}

}  // namespace lanescope::study
