// SPDX-License-Identifier: Apache-2.0
// How fast this program's own kernels are on a host that nobody measured.
#pragma once

#include <string_view>

#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/schedule/cost.h"

namespace lanescope::sims {

// Whether the device is threads of a host whose machine file gives no rate, so that only the kernels say how
// fast they are.
bool HasOnlyKernels(const DeviceSpec& device);

// Whether the op was measured on the host that the rates come from.
bool IsKnownKernel(std::string_view op);

// One launch, by the rate of the op's kernel on one worker of another computer, for as many workers as the
// work can be split over; by the usual rate where the op was not measured there. kExtrapolated.
CostEstimate HostKernelCost(std::string_view op, const OpWork& work, int workers);

}  // namespace lanescope::sims
