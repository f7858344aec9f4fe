// SPDX-License-Identifier: Apache-2.0
// Feeds for a graph that declares only types and shapes of its inputs. Internal to core.
#pragma once

#include <string>

#include "core/inputs/run_spec.h"

namespace lanescope {

// Numbers between 0 and 1, integers of 0 and 1, empty texts: by a fixed seed, the same in every run. `shape`
// is exact. Throws Unimplemented, naming the input, for a type that no feed has.
FeedSpec DefaultFeed(const std::string& name, DataType dtype, const Shape& shape);

}  // namespace lanescope
