// SPDX-License-Identifier: Apache-2.0
#include "gui/app/format.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lanescope::gui {
namespace {

struct Unit {
  double size;
  const char* name;
};

constexpr std::array<Unit, 4> kTimes = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};

}  // namespace

std::string AxisText(int64_t ns, int64_t step_ns) {
  const int64_t magnitude = std::max(ns < 0 ? -ns : ns, step_ns);
  const Unit* unit = &kTimes.back();
  for (const Unit& each : kTimes) {
    if (static_cast<double>(magnitude) >= each.size) {
      unit = &each;
      break;
    }
  }
  // As many digits as tell the step exactly: 25 us takes three of a millisecond.
  int digits = 0;
  for (int64_t part = std::llround(unit->size); part > 1 && step_ns % part != 0; part /= 10) ++digits;
  return fmt::format("{:.{}f} {}", static_cast<double>(ns) / unit->size, digits, unit->name);
}

std::string CountText(int64_t count) {
  std::string digits = std::to_string(count);
  const int sign = count < 0 ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > sign; i -= 3) {
    digits.insert(static_cast<size_t>(i), 1, ',');
  }
  return digits;
}

}  // namespace lanescope::gui
