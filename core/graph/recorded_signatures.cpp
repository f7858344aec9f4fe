// SPDX-License-Identifier: Apache-2.0
#include "core/graph/recorded_signatures.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/base/error.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope {
namespace {

constexpr std::string_view kSignatures =
#if __has_include("signatures_tsv.inc")
#include "signatures_tsv.inc"
#else
    ""
#endif
    ;

std::string_view NameOf(std::string_view line) { return line.substr(0, line.find('(')); }

// The lines of the table, which is sorted by name.
const std::vector<std::string_view>& Lines() {
  static const std::vector<std::string_view> lines = [] {
    std::vector<std::string_view> found;
    for (std::string_view rest = kSignatures; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      if (end > 0 && rest[0] != '#') found.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return found;
  }();
  return lines;
}

OpDef ParseLine(std::string_view line) {
  const size_t tab = line.find('\t');
  LANESCOPE_CHECK(tab != std::string_view::npos);
  return ops::ParseOpSpec(line.substr(0, tab), line.substr(tab + 1));
}

}  // namespace

const OpDef* RecordedSignature(std::string_view op) {
  static std::mutex mutex;
  static auto* const parsed = new std::unordered_map<std::string_view, std::unique_ptr<const OpDef>>;
  const auto& lines = Lines();
  const auto line = std::lower_bound(lines.begin(), lines.end(), op,
                                     [](std::string_view a, std::string_view b) { return NameOf(a) < b; });
  if (line == lines.end() || NameOf(*line) != op) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& def = (*parsed)[NameOf(*line)];
  if (def == nullptr) def = std::make_unique<const OpDef>(ParseLine(*line));
  return def.get();
}

std::vector<std::string_view> RecordedOps() {
  std::vector<std::string_view> names;
  for (const std::string_view line : Lines()) names.push_back(NameOf(line));
  return names;
}

}  // namespace lanescope
