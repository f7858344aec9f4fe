// Numbers as people read them, beside TimeText and the like of timeline_data.h.
#pragma once

#include <cstdint>
#include <string>

namespace lanescope::gui {

// "+1.2 ms", "-300 ns".
std::string SignedTimeText(double ns);
// A time on the axis, with as many digits as steps of `step_ns` need: "12.25 ms".
std::string AxisText(int64_t ns, int64_t step_ns);
// 0.218 -> "21.8%".
std::string ShareText(double fraction);
// 7.5e9 -> "7.5 GB/s".
std::string BandwidthText(double bytes_per_second);
// 1234567 -> "1,234,567".
std::string CountText(int64_t count);

// A round step (1, 2 or 5 times a power of ten) such that `span_ns` holds at most `max_steps`; at least 1.
int64_t GridStep(int64_t span_ns, int max_steps);

}  // namespace lanescope::gui
