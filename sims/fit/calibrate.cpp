// SPDX-License-Identifier: Apache-2.0
#include "sims/fit/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "core/base/statistics.h"
#include "core/machine/copy_time.h"
#include "core/schedule/cost.h"
#include "sims/cost/roofline_fit.h"

namespace lanescope::sims {
namespace {

constexpr int kMinCopySizes = 3;

// A step is a sum of launches, so what a launch adds to it is its mean, whatever modes it has.
int64_t MeanNs(const std::vector<int64_t>& samples) {
  return std::llround(std::accumulate(samples.begin(), samples.end(), 0.0) /
                      static_cast<double>(samples.size()));
}

std::vector<LaunchCost> CalibrateLaunches(std::span<const OpSample> samples, int warmup_steps) {
  struct Group {
    const OpSample* first = nullptr;
    std::vector<int64_t> ns;
  };
  std::map<std::pair<std::string_view, std::string_view>, Group> groups;
  for (const OpSample& sample : samples) {
    if (sample.step < warmup_steps || sample.ns < 0) continue;
    Group& group = groups[{sample.device, sample.signature}];
    if (group.first == nullptr) group.first = &sample;
    group.ns.push_back(sample.ns);
  }
  std::vector<LaunchCost> launches;
  for (auto& [key, group] : groups) {
    std::vector<int64_t> positive;
    std::copy_if(group.ns.begin(), group.ns.end(), std::back_inserter(positive),
                 [](int64_t ns) { return ns > 0; });
    const std::vector<int64_t>& used = positive.empty() ? group.ns : positive;
    const SampleSummary summary = Summarise(used);
    launches.push_back({.signature = group.first->signature,
                        .op = group.first->op,
                        .device = group.first->device,
                        .ns = MeanNs(used),
                        .spread_ns = summary.spread_ns,
                        .count = summary.count,
                        .work = group.first->work});
  }
  return launches;
}

// One size of copy between two kinds of device.
struct CopyPoint {
  int64_t bytes = 0;
  double plain_ns = 0;     // by the machine file
  double measured_ns = 0;  // median
  double spread = 0;       // relative
};

// With few sizes a slope cannot be told from an overhead: the difference counts as overhead, or, where copies
// are faster than the machine file says, as a factor.
void FitFewSizes(const std::vector<CopyPoint>& points, CopyFit* fit) {
  std::vector<double> differences, ratios;
  for (const CopyPoint& point : points) {
    differences.push_back(point.measured_ns - point.plain_ns);
    ratios.push_back(point.plain_ns > 0 ? point.measured_ns / point.plain_ns : 1);
  }
  const double difference = Median(std::move(differences));
  if (difference >= 0) {
    fit->overhead_ns = difference;
  } else {
    fit->factor = Median(std::move(ratios));
  }
}

void FitCopies(const std::vector<CopyPoint>& points, CopyFit* fit) {
  if (points.size() < kMinCopySizes) {
    FitFewSizes(points, fit);
  } else {
    std::vector<WorkPoint> rows;
    for (const CopyPoint& point : points) rows.push_back({0, point.plain_ns, point.measured_ns});
    const RooflineFit line = FitRoofline(rows);
    fit->overhead_ns = line.fixed_ns;
    fit->factor = line.ns_per_byte;
  }
  for (const CopyPoint& point : points) {
    const double predicted = fit->overhead_ns + fit->factor * point.plain_ns;
    if (predicted <= 0) continue;
    fit->spread = std::max({fit->spread, point.spread, std::abs(point.measured_ns / predicted - 1)});
  }
}

std::vector<CopyFit> CalibrateCopies(std::span<const CopySample> samples, const Machine& machine,
                                     int warmup_steps) {
  std::map<std::tuple<DeviceKind, DeviceKind, int64_t, DeviceId, DeviceId>, std::vector<int64_t>> groups;
  for (const CopySample& sample : samples) {
    if (sample.step < warmup_steps || sample.ns <= 0 || sample.src == sample.dst) continue;
    groups[{machine.device(sample.src).kind, machine.device(sample.dst).kind, sample.bytes, sample.src,
            sample.dst}]
        .push_back(sample.ns);
  }
  std::map<std::pair<DeviceKind, DeviceKind>, std::pair<CopyFit, std::vector<CopyPoint>>> fits;
  for (auto& [key, ns] : groups) {
    const auto& [src_kind, dst_kind, bytes, src, dst] = key;
    auto& [fit, points] = fits[{src_kind, dst_kind}];
    if (points.empty()) fit = {.src = src_kind, .dst = dst_kind, .min_bytes = bytes, .max_bytes = bytes};
    const SampleSummary summary = Summarise(ns);
    const int64_t plain = CopyNs(machine, machine.RouteBetween(src, dst), bytes);
    points.push_back({bytes, static_cast<double>(plain), static_cast<double>(summary.ns),
                      static_cast<double>(summary.spread_ns) / static_cast<double>(summary.ns)});
    fit.count += static_cast<int64_t>(ns.size());
    fit.min_bytes = std::min(fit.min_bytes, bytes);
    fit.max_bytes = std::max(fit.max_bytes, bytes);
  }
  std::vector<CopyFit> result;
  for (auto& [kinds, entry] : fits) {
    FitCopies(entry.second, &entry.first);
    result.push_back(entry.first);
  }
  return result;
}

}  // namespace

SampleSummary Summarise(const std::vector<int64_t>& ns) {
  SampleSummary summary;
  if (ns.empty()) return summary;
  summary.count = static_cast<int64_t>(ns.size());
  summary.ns = Median(ns);
  std::vector<int64_t> distances;
  for (const int64_t x : ns) distances.push_back(std::abs(x - summary.ns));
  summary.spread_ns = std::llround(Quantile(distances, 0.9));
  return summary;
}

CostTable CalibrateCosts(std::span<const OpSample> ops, std::span<const CopySample> copies,
                         const Machine& machine, int warmup_steps) {
  CostTable table;
  table.launches = CalibrateLaunches(ops, warmup_steps);
  table.copies = CalibrateCopies(copies, machine, warmup_steps);
  return table;
}

double EstimateCommonSpread(std::span<const MeasuredStep> steps) {
  std::vector<int64_t> ns;
  for (const MeasuredStep& step : steps) ns.push_back(step.end_ns - step.start_ns);
  const SampleSummary summary = Summarise(ns);
  if (summary.ns <= 0) return 0;
  return std::min(1.0, static_cast<double>(summary.spread_ns) / static_cast<double>(summary.ns));
}

}  // namespace lanescope::sims
