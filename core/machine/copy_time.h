// SPDX-License-Identifier: Apache-2.0
// How long a copy takes on its links.
#pragma once

#include <cstdint>

#include "core/machine/machine.h"

namespace lanescope {

// Where a machine file gives no rate: bytes per second.
inline constexpr double kAssumedBandwidth = 10e9;

// Time of a copy alone on its link: the link's table where there is one, else latency + bytes / bandwidth.
int64_t CopyNs(const Machine& machine, const Route& route, int64_t bytes);

}  // namespace lanescope
