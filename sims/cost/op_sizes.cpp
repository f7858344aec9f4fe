// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/op_sizes.h"

#include <algorithm>
#include <cmath>

namespace lanescope::sims {
namespace {

// For each doubling.
constexpr double kSpreadOfGrowth = 0.15;

std::string FormKey(const std::string& device, const std::string& form) { return device + '\n' + form; }

double WorkGrowth(const OpWork& from, const OpWork& to, double sizes) {
  const auto growth = [](int64_t a, int64_t b) {
    return a > 0 && b > 0 ? static_cast<double>(b) / static_cast<double>(a) : 0.0;
  };
  const double flops = growth(from.flops, to.flops), bytes = growth(from.bytes, to.bytes);
  if (flops > 0 && bytes > 0) return std::sqrt(flops * bytes);
  return flops > 0 ? flops : bytes > 0 ? bytes : sizes;
}

}  // namespace

SizedForm FormOf(std::string_view signature) {
  SizedForm result;
  bool sized = false;  // within a shape or a value
  for (size_t i = 0; i < signature.size(); ++i) {
    const char c = signature[i];
    if (c == '{') {
      result.form += signature.substr(i);
      break;
    }
    if (c == '[' || c == '=') sized = true;
    if (c == ']' || c == ';' || c == ')') sized = false;
    const auto is_digit = [&](size_t at) {
      return at < signature.size() && signature[at] >= '0' && signature[at] <= '9';
    };
    if (!sized || !is_digit(i)) {
      result.form += c;
      continue;
    }
    int64_t number = 0;
    for (; is_digit(i); ++i) number = std::min<int64_t>(number, INT64_MAX / 16) * 10 + (signature[i] - '0');
    --i;
    result.form += '#';
    result.numbers.push_back(number);
  }
  return result;
}

std::optional<double> GrowthOf(std::span<const int64_t> from, std::span<const int64_t> to) {
  if (from.size() != to.size()) return std::nullopt;
  double growth = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    if (from[i] <= 0 || to[i] <= 0) return std::nullopt;
    const double own = static_cast<double>(to[i]) / static_cast<double>(from[i]);
    if (growth != 0 && std::abs(own - growth) > 1e-9 * growth) return std::nullopt;
    growth = own;
  }
  return growth == 0 ? 1.0 : growth;
}

void OpSizes::Add(const LaunchCost& cost) {
  if (cost.ns <= 0) return;
  SizedForm form = FormOf(cost.signature);
  const auto ns = static_cast<double>(cost.ns);
  sizes_[FormKey(cost.device, form.form)].push_back(
      {std::move(form.numbers), ns, static_cast<double>(cost.spread_ns) / ns, cost.work});
}

std::optional<OpSizes::Estimate> OpSizes::Find(const std::string& device, const std::string& signature,
                                               const OpWork& work, double fixed_ns) const {
  const SizedForm form = FormOf(signature);
  const auto found = sizes_.find(FormKey(device, form.form));
  if (found == sizes_.end()) return std::nullopt;
  struct Known {
    double size = 1;  // of what is asked for
    const Size* entry = nullptr;
    double distance() const { return std::abs(std::log(size)); }
  };
  std::vector<Known> known;
  for (const Size& entry : found->second) {
    if (const auto growth = GrowthOf(form.numbers, entry.numbers)) known.push_back({*growth, &entry});
  }
  if (known.empty()) return std::nullopt;
  std::ranges::stable_sort(known, {}, &Known::distance);
  const Known& nearest = known.front();
  Estimate estimate;
  estimate.growth = 1 / nearest.size;
  estimate.spread = nearest.entry->spread + kSpreadOfGrowth * std::abs(std::log2(nearest.size));
  // The nearest on the other side, else the next one.
  const auto other_side = std::ranges::find_if(
      known, [&](const Known& other) { return (other.size > 1) != (nearest.size > 1) && other.size != 1; });
  const auto next =
      std::ranges::find_if(known, [&](const Known& other) { return other.size != nearest.size; });
  const auto second = other_side != known.end() ? other_side : next;
  if (second != known.end()) {
    const double slope = (second->entry->ns - nearest.entry->ns) / (second->size - nearest.size);
    const double ns = nearest.entry->ns + (1 - nearest.size) * slope;
    if (slope >= 0 && ns > 0) {
      estimate.ns = ns;
      return estimate;
    }
  }
  const double fixed = std::min(fixed_ns, nearest.entry->ns);
  estimate.ns = fixed + (nearest.entry->ns - fixed) * WorkGrowth(nearest.entry->work, work, estimate.growth);
  return estimate;
}

}  // namespace lanescope::sims
