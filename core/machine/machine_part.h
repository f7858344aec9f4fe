// SPDX-License-Identifier: Apache-2.0
// Some of the devices of a machine as a machine of their own.
#pragma once

#include <vector>

#include "core/machine/machine.h"

namespace lanescope {

// The machine of some devices, device i of it being `devices[i]` of the whole, with the links and the
// buses between them and the network interfaces of their tasks. The host of a task must be among them where
// another of its devices is. Not of a machine with a cluster.
Machine PartOf(const Machine& machine, const std::vector<DeviceId>& devices);

}  // namespace lanescope
