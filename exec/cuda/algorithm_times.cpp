// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/algorithm_times.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>

#include "core/base/error.h"
#include "exec/cuda/kernel_cache.h"

namespace lanescope::exec::cuda {
namespace {

constexpr std::string_view kRefused = "-";

// A line an algorithm: "NCHW_4 113500".
std::string LineOf(const std::string& name, const std::optional<int64_t>& ns) {
  return fmt::format("{} {}\n", name, ns.has_value() ? std::to_string(*ns) : kRefused);
}

// Takes the line of this algorithm off the front. False: it is not there.
bool TakeLine(const std::string& name, std::string_view* text, std::optional<int64_t>* ns) {
  const std::string begin = name + " ";
  const size_t end = text->find('\n');
  if (!text->starts_with(begin) || end == std::string_view::npos) return false;
  const std::string_view number = text->substr(begin.size(), end - begin.size());
  text->remove_prefix(end + 1);
  ns->reset();
  if (number == kRefused) return true;
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || stop != number.data() + number.size() || value < 0) return false;
  *ns = value;
  return true;
}

}  // namespace

std::optional<size_t> QuickestOf(const AlgorithmTimes& times) {
  std::optional<size_t> quickest;
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].has_value() && (!quickest.has_value() || *times[i] < *times[*quickest])) quickest = i;
  }
  return quickest;
}

std::optional<AlgorithmTimes> FindAlgorithmTimes(const std::string& key,
                                                 const std::vector<std::string>& names) {
  const auto kept = KernelCache(KernelCacheFolder()).Find(key);
  if (!kept.has_value()) return std::nullopt;
  std::string_view text = *kept;
  AlgorithmTimes times(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (!TakeLine(names[i], &text, &times[i])) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return times;
}

void KeepAlgorithmTimes(const std::string& key, const std::vector<std::string>& names,
                        const AlgorithmTimes& times) {
  LANESCOPE_CHECK(names.size() == times.size());
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += LineOf(names[i], times[i]);
  KernelCache(KernelCacheFolder()).Keep(key, text);
}

}  // namespace lanescope::exec::cuda
