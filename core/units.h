// Quantities with their units, beyond what machine.h declares: rates of arithmetic, and texts that read back
// to the very same number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lanescope {

// "4.37TFLOP/s" -> operations per second. Throws InvalidArgument.
double ParseFlopRate(std::string_view text);

// The shortest text that the matching Parse function turns back into exactly this value (FormatBytes and its
// kin round for people).
std::string ExactBytes(int64_t bytes);
std::string ExactBandwidth(double bytes_per_second);
std::string ExactDuration(int64_t ns);
std::string ExactFlopRate(double flops_per_second);

}  // namespace lanescope
