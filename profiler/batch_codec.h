// SPDX-License-Identifier: Apache-2.0
// A batch of activities as bytes, between processes of one machine that run the same Lanescope.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/record/activity_rows.h"

namespace lanescope::profiler {

std::string EncodeBatch(const traces::ActivityBatch& batch);

// False for bytes that no EncodeBatch made: every size, count and text number is checked, so that what
// decodes can be written as it is.
bool DecodeBatch(std::string_view bytes, traces::ActivityBatch* batch);

}  // namespace lanescope::profiler
