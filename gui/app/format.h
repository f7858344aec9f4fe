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

// A round step (1, 2 or 5 times a power of ten) such that `span_ns` holds at most `max_steps`; at least 1.
int64_t GridStep(int64_t span_ns, int max_steps);

}  // namespace lanescope::gui
