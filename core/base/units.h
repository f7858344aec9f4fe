// SPDX-License-Identifier: Apache-2.0
// Quantities with their units: read, written for people, and written as texts that read back to the very same
// number.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace lanescope {

// "11GiB" -> bytes, "7.55GB/s" -> bytes per second, "4.3us" -> ns, "4.37TFLOP/s" -> operations per second.
// Throw InvalidArgument.
int64_t ParseBytes(std::string_view text);
double ParseBandwidth(std::string_view text);
int64_t ParseDuration(std::string_view text);
double ParseFlopRate(std::string_view text);

// In four significant digits and a fitting unit: "11GiB", "7.55GB/s", "4.3us".
std::string FormatBytes(int64_t bytes);
std::string FormatBandwidth(double bytes_per_second);
std::string FormatDuration(int64_t ns);

// A time in four significant digits and a fitting unit: "12.43 ms", "999 ns".
std::string TimeText(double ns);
std::string TimeText(std::integral auto ns) { return TimeText(static_cast<double>(ns)); }
// A time with its sign: "+40 ns", "-1.2 ms"; "0 ns" for what rounds to it.
std::string SignedTimeText(double ns);
// "12.3%" for 0.123; "-" for what is no number. `digits` after the point.
std::string PercentText(double fraction, int digits = 1);
// A percentage with its sign: "+12.3%".
std::string SignedPercentText(double fraction, int digits = 1);

// The shortest text that the matching Parse function turns back into exactly this value (FormatBytes and its
// kin round for people).
std::string ExactBytes(int64_t bytes);
std::string ExactBandwidth(double bytes_per_second);
std::string ExactDuration(int64_t ns);
std::string ExactFlopRate(double flops_per_second);

}  // namespace lanescope
