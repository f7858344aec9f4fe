// SPDX-License-Identifier: Apache-2.0
#include "study/gate/quantity.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"

namespace lanescope::study {
namespace {

constexpr std::string_view kOpPrefix = "op:";
constexpr std::array<std::pair<std::string_view, Quantity::Kind>, 6> kNames = {
    {{"step", Quantity::Kind::kStep},
     {"fastest", Quantity::Kind::kFastest},
     {"kernels", Quantity::Kind::kKernels},
     {"collectives", Quantity::Kind::kCollectives},
     {"idle", Quantity::Kind::kIdle},
     {"memory", Quantity::Kind::kMemory}}};

Quantity ParseQuantity(std::string_view text) {
  const auto found = std::ranges::find(kNames, text, &std::pair<std::string_view, Quantity::Kind>::first);
  if (found == kNames.end()) {
    Throw(Code::kInvalidArgument,
          "'{}' is nothing to gate; there are step, fastest, kernels, collectives, idle, memory and op:NAME",
          text);
  }
  return {found->second, ""};
}

}  // namespace

std::string Quantity::name() const {
  if (kind == Kind::kOp) return std::string(kOpPrefix) + op;
  if (kind == Kind::kWall) return "wall";
  return std::string(std::ranges::find(kNames, kind, &std::pair<std::string_view, Kind>::second)->first);
}

std::vector<Quantity> ParseQuantities(std::string_view list) {
  std::vector<Quantity> quantities;
  const auto add = [&](Quantity quantity) {
    if (std::ranges::find(quantities, quantity) == quantities.end())
      quantities.push_back(std::move(quantity));
  };
  while (true) {
    if (list.starts_with(kOpPrefix)) {
      if (list.size() == kOpPrefix.size()) Throw(Code::kInvalidArgument, "op: wants the name of an op");
      add({Quantity::Kind::kOp, std::string(list.substr(kOpPrefix.size()))});
      return quantities;
    }
    const size_t comma = list.find(',');
    add(ParseQuantity(list.substr(0, comma)));
    if (comma == std::string_view::npos) return quantities;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace lanescope::study
