// SPDX-License-Identifier: Apache-2.0
#include "study/gate/op_changes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/statistics.h"
#include "study/gate/change_interval.h"

namespace lanescope::study {
namespace {

constexpr double kOpError = 0.025;  // on each side of an op's interval
constexpr double kLeastNs = 0.5;

}  // namespace

void OpChanges::Add(const RunDiff& pair) {
  for (const OpDiff& op : pair.ops) {
    Changes& changes = ops_[op.name];
    changes.devices = op.b.devices.empty() ? op.a.devices : op.b.devices;
    changes.by_pair[pairs_] += op.PathChange();
  }
  ++pairs_;
}

std::vector<OpChange> OpChanges::Largest(size_t count) const {
  std::vector<OpChange> largest;
  for (const auto& [name, changes] : ops_) {
    std::vector<double> by_pair(static_cast<size_t>(pairs_));
    for (const auto& [pair, ns] : changes.by_pair) by_pair[static_cast<size_t>(pair)] = ns;
    const std::optional<ChangeInterval> change = PairedChange(by_pair, kOpError);
    OpChange op{name, changes.devices};
    if (change) {
      op = {name, changes.devices, change->value, change->low, change->high};
      op.is_certain = change->low > 0 || change->high < 0;
    } else {
      const auto [low, high] = std::ranges::minmax(by_pair);
      op = {name, changes.devices, Median(by_pair), low, high};
    }
    if (std::abs(op.change_ns) >= kLeastNs) largest.push_back(std::move(op));
  }
  std::ranges::stable_sort(largest, [](const OpChange& a, const OpChange& b) {
    if (a.is_certain != b.is_certain) return a.is_certain;
    return std::abs(a.change_ns) > std::abs(b.change_ns);
  });
  if (largest.size() > count) largest.resize(count);
  return largest;
}

}  // namespace lanescope::study
