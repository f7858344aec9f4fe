// SPDX-License-Identifier: Apache-2.0
// From the handle of a queue to the queue.
#pragma once

#include <memory>
#include <string>

#include "exec/device/kernel.h"
#include "exec/resources/queue.h"

namespace lanescope::exec {

// The queue behind a handle input; made, or found by its shared name, by whoever meets it first. Throws
// InvalidArgument where the input is the handle of something else, or the queue that has the name is declared
// otherwise.
std::shared_ptr<TensorQueue> QueueOf(KernelContext& context, int input);

// "queue 'examples'": as what waits for it says. Its node's name where it has no other.
std::string QueueTitle(KernelContext& context, int input);
// The title of a queue by its name in the resource manager.
std::string QueueTitle(std::string_view name);

}  // namespace lanescope::exec
