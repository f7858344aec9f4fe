// SPDX-License-Identifier: Apache-2.0
#include "study/gate/stored_baseline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/statistics.h"

namespace lanescope::study {
namespace {

const traces::BaselineSample* Find(const traces::BaselineRun& run, const std::string& quantity) {
  const auto found = std::ranges::find(run.samples, quantity, &traces::BaselineSample::quantity);
  return found == run.samples.end() ? nullptr : &*found;
}

// Empty: some run lacks it.
std::vector<QuantitySample> SamplesOf(const traces::BaselineRecord& record, const std::string& quantity) {
  std::vector<QuantitySample> samples;
  for (const traces::BaselineRun& run : record.runs) {
    const traces::BaselineSample* sample = Find(run, quantity);
    if (sample == nullptr) return {};
    samples.push_back({sample->value, sample->scale, sample->error});
  }
  return samples;
}

QuantitySample MiddleOfRecord(const std::vector<QuantitySample>& samples) {
  std::vector<double> values, scales;
  for (const QuantitySample& sample : samples) {
    values.push_back(sample.value);
    scales.push_back(sample.scale);
  }
  return {Median(std::move(values)), Median(std::move(scales)), 0};
}

BaselineSpread SpreadOfQuantity(std::span<const traces::BaselineRecord> records,
                                const std::string& quantity) {
  std::vector<QuantitySample> middles;
  BaselineSpread spread;
  double squares = 0, runs = 0;
  for (const traces::BaselineRecord& record : records) {
    const std::vector<QuantitySample> samples = SamplesOf(record, quantity);
    if (samples.empty()) continue;
    const QuantitySample middle = MiddleOfRecord(samples);
    for (const QuantitySample& sample : samples) squares += std::pow(RelativeDifference(middle, sample), 2);
    spread.run_freedom += static_cast<double>(samples.size() - 1);
    runs += static_cast<double>(samples.size());
    middles.push_back(middle);
  }
  if (middles.empty()) return {};
  spread.runs = runs / static_cast<double>(middles.size());
  if (spread.run_freedom > 0) spread.of_runs = std::sqrt(squares / spread.run_freedom);
  double steps = 0;
  for (size_t i = 1; i < middles.size(); ++i)
    steps += std::pow(RelativeDifference(middles[i - 1], middles[i]), 2);
  spread.freedom = static_cast<double>(middles.size() - 1);
  // The difference of two records has twice the variance of one.
  if (spread.freedom > 0) spread.of_records = std::sqrt(steps / spread.freedom / 2);
  return spread;
}

}  // namespace

std::vector<RunSample> LatestBaseline(traces::BaselineStore* store, const std::string& name,
                                      std::span<const Quantity> quantities) {
  const std::vector<traces::BaselineRecord> latest = store->Latest(name, 1);
  if (latest.empty() || latest.front().runs.empty()) {
    std::string known;
    for (const std::string& other : store->Names()) known += (known.empty() ? "" : ", ") + other;
    Throw(Code::kNotFound, "there is no baseline '{}'; {}", name,
          known.empty() ? "store one with --as" : "there are " + known);
  }
  std::vector<RunSample> runs(latest.front().runs.size());
  for (const Quantity& quantity : quantities) {
    const std::vector<QuantitySample> samples = SamplesOf(latest.front(), quantity.name());
    if (samples.empty()) {
      Throw(Code::kNotFound, "baseline '{}' has no {}; store one with it, or gate what it has", name,
            quantity.name());
    }
    for (size_t i = 0; i < runs.size(); ++i) runs[i].of.push_back(samples[i]);
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].name = fmt::format("run {} of baseline {}", i + 1, name);
    runs[i].utc_ns = latest.front().runs[i].utc_ns;
    runs[i].steps = latest.front().runs[i].steps;
  }
  return runs;
}

std::vector<BaselineSpread> SpreadOfBaselines(std::span<const traces::BaselineRecord> records,
                                              std::span<const Quantity> quantities) {
  std::vector<BaselineSpread> spread;
  for (const Quantity& quantity : quantities) spread.push_back(SpreadOfQuantity(records, quantity.name()));
  return spread;
}

traces::BaselineRecord RecordOf(const std::string& what, int64_t utc_ns, std::span<const RunSample> runs,
                                std::span<const Quantity> quantities) {
  traces::BaselineRecord record{what, utc_ns, {}};
  for (const RunSample& run : runs) {
    record.runs.push_back({run.utc_ns, run.steps, {}});
    for (size_t q = 0; q < quantities.size(); ++q) {
      record.runs.back().samples.push_back(
          {quantities[q].name(), run.of[q].value, run.of[q].scale, run.of[q].error});
    }
  }
  return record;
}

}  // namespace lanescope::study
