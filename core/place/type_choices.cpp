// SPDX-License-Identifier: Apache-2.0
#include "core/place/type_choices.h"

#include <algorithm>

namespace lanescope {
namespace {

bool HasPriorities(const TypeChoices& types) {
  return std::any_of(types.begin(), types.end(),
                     [](const TypeChoice& choice) { return choice.priority != 0; });
}

TypeChoices Intersect(const TypeChoices& types, const TypeChoices& others) {
  TypeChoices common;
  for (const TypeChoice& choice : types) {
    if (std::any_of(others.begin(), others.end(),
                    [&](const TypeChoice& other) { return other.type == choice.type; })) {
      common.push_back(choice);
    }
  }
  return common;
}

bool SameOrder(const TypeChoices& a, const TypeChoices& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TypeChoice& x, const TypeChoice& y) { return x.type == y.type; });
}

}  // namespace

TypeChoices MergeTypes(const TypeChoices& target, const TypeChoices& other) {
  TypeChoices from_target = Intersect(target, other);
  TypeChoices from_other = Intersect(other, target);
  if (!HasPriorities(from_other)) return from_target;
  if (!HasPriorities(from_target)) return from_other;
  if (SameOrder(from_target, from_other)) return from_target;
  for (TypeChoice& choice : from_target) choice.priority = 0;
  std::sort(from_target.begin(), from_target.end(),
            [](const TypeChoice& a, const TypeChoice& b) { return a.type < b.type; });
  return from_target;
}

}  // namespace lanescope
