// SPDX-License-Identifier: Apache-2.0
// Lists of ids from their numbers.
#pragma once

#include <initializer_list>
#include <vector>

#include "core/base/id.h"

namespace lanescope::test {

template <typename Key>
std::vector<Key> Ids(std::initializer_list<int> numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace lanescope::test
