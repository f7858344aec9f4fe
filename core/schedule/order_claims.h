// SPDX-License-Identifier: Apache-2.0
// Claims of the form "this command is complete before that one starts", checked all at once by exact
// reachability. Internal to core.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"

namespace lanescope {

// Collects claims about the commands of one schedule. Not thread-safe.
class OrderClaims {
 public:
  // `law` is what a broken claim means, and must outlive this.
  void Claim(CommandId before, CommandId after, const char* law) {
    if (before != after) claims_.push_back({before, after, law});
  }
  // Calls broken(law, before, after) for the first claim that fails. `predecessors`: in an order
  // that respects them.
  void Check(const IdVector<CommandId, std::vector<CommandId>>& predecessors,
             const std::function<void(const char* law, CommandId before, CommandId after)>& broken);

 private:
  struct Item {
    CommandId before;
    CommandId after;
    const char* law;
  };
  std::vector<Item> claims_;
};

}  // namespace lanescope
