// SPDX-License-Identifier: Apache-2.0
// How long a device takes to notice that what it waited for has ended, and to begin its next copy.
#pragma once

#include <memory>

#include "core/machine/machine.h"
#include "study/base/cancellation.h"
#include "study/measure/recorded_chain.h"

namespace lanescope::study {

// An element-wise op on one virtual GPU, copies of its halves to the other, one after the other, the same op
// there and back, and so on; then a chain of ops on alternating GPUs that wait for each other without data.
// At every moment one command runs, so that no hand-off waits for a core. Whether a core that had nothing to
// do is awake soon changes with what the machine did before: steps are taken again and again, between others,
// some hundredths of a second at a time, by the speed of the links. Null where the machine has no two virtual
// GPUs.
std::unique_ptr<RecordedChain> MakeHandoffChain(const Machine& machine, Cancellation* cancellation = nullptr);

// A chain by itself. Throws Cancelled.
ChainRun MeasureHandoffs(const Machine& machine, Cancellation* cancellation = nullptr);

}  // namespace lanescope::study
