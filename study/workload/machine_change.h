// SPDX-License-Identifier: Apache-2.0
// A machine with something in it changed, as `simulate --set` says it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/id.h"
#include "core/machine/machine.h"

namespace lanescope::study {

// "link.bandwidth=10GB/s" (links between GPUs), "host_link.bandwidth=..", "link.latency=5us",
// "network.bandwidth=.." (links between tasks, and their network interfaces; the others are those within
// one), "GPU:1.speed=0.5", "GPU:0.memory=4GiB", "GPU:0.workers=2". A speed goes to `speed`, which has one a
// device. Throws InvalidArgument listing what can be set.
void ApplyMachineChange(std::string_view change, Machine* machine, IdVector<DeviceId, double>* speed);
// Before anything runs: empty where the text has the right form, else what is wrong.
std::string CheckMachineChange(const std::string& change);

}  // namespace lanescope::study
