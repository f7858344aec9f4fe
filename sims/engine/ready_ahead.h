// SPDX-License-Identifier: Apache-2.0
// The ready commands of a simulated queue, with a look at the one that is probably next. Internal to sims.
#pragma once

#include <vector>

#include "core/schedule/dispatch.h"

namespace lanescope::sims {

// As ReadyPositions. Whenever a command is taken, what would be taken after it is written to a place of its
// own, so that the loop can fetch it into the cache while others run. A hint: one that becomes ready
// meanwhile may come before it.
class ReadyAhead : public ReadyPositions {
 public:
  // Both must outlive the set.
  ReadyAhead(const std::vector<CommandId>* order, CommandId* ahead) : ReadyPositions(order), ahead_(ahead) {}

  void PopFirst() {
    ReadyPositions::PopFirst();
    *ahead_ = empty() ? CommandId() : First();
  }

 private:
  CommandId* ahead_;
};

}  // namespace lanescope::sims
