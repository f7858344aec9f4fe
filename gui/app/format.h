// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, beside those of core/base/units.h.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/units.h"
#include "core/machine/machine.h"

namespace lanescope::gui {

// A time on the axis, with as many digits as steps of `step_ns` need: "12.25 ms".
std::string AxisText(int64_t ns, int64_t step_ns);
// 1234567 -> "1,234,567".
std::string CountText(int64_t count);

}  // namespace lanescope::gui
