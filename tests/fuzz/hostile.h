// SPDX-License-Identifier: Apache-2.0
// The law of every fuzz target: work on hostile input is done, or refused with an Error that is no defect of
// ours.
#pragma once

#include "core/base/error.h"

namespace lanescope {

// True when the work was done. A broken invariant is a defect, whatever the input: its Error passes and ends
// the program, as every other exception does.
template <typename Work>
bool Try(Work work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (error.code() == Code::kInternal) throw;
    return false;
  }
}

}  // namespace lanescope
