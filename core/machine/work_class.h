// SPDX-License-Identifier: Apache-2.0
// The resource that a command mostly uses, and how commands that run side by side slow each other down by it.
#pragma once

#include <array>
#include <cstdint>

namespace lanescope {

enum class WorkClass : uint8_t { kCompute, kMemory, kCopy };
inline constexpr int kNumWorkClasses = 3;

// [victim][beside]: the time of a command of class `victim` next to one of class `beside`, as a multiple of
// its time alone.
using SlowdownMatrix = std::array<std::array<double, kNumWorkClasses>, kNumWorkClasses>;

}  // namespace lanescope
