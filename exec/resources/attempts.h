// SPDX-License-Identifier: Apache-2.0
// Resources that calls wait for without a thread.
#pragma once

#include <cstdint>

#include "exec/resources/resource.h"

namespace lanescope::exec {

// Each call that may wait is an attempt with a number, to cancel it by.
class AttemptResource : public Resource {
 public:
  using AttemptNumber = uint64_t;

  // Ends an attempt that still waits with Cancelled. False: it finished before.
  virtual bool Cancel(AttemptNumber attempt) = 0;
};

}  // namespace lanescope::exec
