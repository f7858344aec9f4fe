// SPDX-License-Identifier: Apache-2.0
#include "core/base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "core/base/error.h"

namespace lanescope {
namespace {

struct Unit {
  std::string_view name;
  double factor;
  bool shown = true;  // false: accepted, never printed for people
};

// Ascending within what is shown.
constexpr std::array<Unit, 12> kBytes{{{"B", 1},
                                       {"KiB", 0x1p10},
                                       {"MiB", 0x1p20},
                                       {"GiB", 0x1p30},
                                       {"TiB", 0x1p40},
                                       {"PiB", 0x1p50},
                                       {"KB", 1e3, false},
                                       {"kB", 1e3, false},
                                       {"MB", 1e6, false},
                                       {"GB", 1e9, false},
                                       {"TB", 1e12, false},
                                       {"PB", 1e15, false}}};
constexpr std::array<Unit, 10> kBandwidths{{{"B/s", 1},
                                            {"KB/s", 1e3},
                                            {"MB/s", 1e6},
                                            {"GB/s", 1e9},
                                            {"TB/s", 1e12},
                                            {"kB/s", 1e3, false},
                                            {"KiB/s", 0x1p10, false},
                                            {"MiB/s", 0x1p20, false},
                                            {"GiB/s", 0x1p30, false},
                                            {"TiB/s", 0x1p40, false}}};
constexpr std::array<Unit, 4> kDurations{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr std::array<Unit, 6> kFlopRates{{{"FLOP/s", 1},
                                          {"KFLOP/s", 1e3},
                                          {"MFLOP/s", 1e6},
                                          {"GFLOP/s", 1e9},
                                          {"TFLOP/s", 1e12},
                                          {"PFLOP/s", 1e15}}};

// The limit of every quantity, so that sums of a few of them fit 64 bits.
constexpr double kLargest = 0x1p61;

std::string UnitNames(std::span<const Unit> units) {
  std::string names;
  for (const Unit& unit : units) {
    if (!names.empty()) names += ", ";
    names += unit.name;
  }
  return names;
}

// A non-negative decimal number, an optional blank, a unit of the list.
double ParseQuantity(std::string_view text, std::span<const Unit> units, std::string_view what) {
  double number = 0;
  const bool starts_well = !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '.');
  const char* end = text.data();
  if (starts_well) {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec == std::errc()) end = result.ptr;
  }
  if (end == text.data()) {
    Throw(Code::kInvalidArgument, "'{}' is no {}: write a non-negative number and a unit ({})", text, what,
          UnitNames(units));
  }
  std::string_view unit_name = text.substr(static_cast<size_t>(end - text.data()));
  if (unit_name.starts_with(' ')) unit_name.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != unit_name) continue;
    const double value = number * unit.factor;
    if (value < kLargest) return value;
    Throw(Code::kInvalidArgument, "'{}' is too large for a {}", text, what);
  }
  Throw(Code::kInvalidArgument, "'{}' has no unit of a {}: use one of {} (bytes, not bits)", text, what,
        UnitNames(units));
}

std::string ForPeople(double value, std::span<const Unit> units) {
  constexpr double kRoundsUp = 1 - 5e-5;  // to 1 of the unit, in the four digits that are shown
  const Unit* best = units.data();
  for (const Unit& unit : units) {
    if (unit.shown && value >= kRoundsUp * unit.factor && unit.factor >= best->factor) best = &unit;
  }
  return fmt::format("{:.4g} {}", value / best->factor, best->name);
}

// The shortest candidate that `same` accepts; the unit of factor 1 always is one.
template <typename Same>
std::string Exact(double value, std::span<const Unit> units, Same same) {
  std::string best = fmt::format("{:.17g}{}", value, units[0].name);
  for (const Unit& unit : units) {
    std::string text = fmt::format("{}{}", value / unit.factor, unit.name);
    if (text.size() <= best.size() && text.find('e') == std::string::npos && same(text))
      best = std::move(text);
  }
  return best;
}

}  // namespace

int64_t ParseBytes(std::string_view text) { return std::llround(ParseQuantity(text, kBytes, "size")); }

double ParseBandwidth(std::string_view text) { return ParseQuantity(text, kBandwidths, "bandwidth"); }

int64_t ParseDuration(std::string_view text) {
  if (text == "0") return 0;  // in whichever unit
  return std::llround(ParseQuantity(text, kDurations, "duration"));
}

double ParseFlopRate(std::string_view text) { return ParseQuantity(text, kFlopRates, "rate of arithmetic"); }

std::string FormatBytes(int64_t bytes) { return ForPeople(static_cast<double>(bytes), kBytes); }

std::string FormatBandwidth(double bytes_per_second) { return ForPeople(bytes_per_second, kBandwidths); }

std::string FormatDuration(int64_t ns) { return ForPeople(static_cast<double>(ns), kDurations); }

std::string TimeText(double ns) {
  static constexpr struct {
    double scale;
    const char* unit;
  } kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  constexpr double kRoundsUp = 1 - 5e-5;  // to 1 of the unit, in the four digits that are shown
  for (const auto& [scale, unit] : kUnits) {
    if (std::abs(ns) >= kRoundsUp * scale) return fmt::format("{:.4g} {}", ns / scale, unit);
  }
  return fmt::format("{:.0f} ns", ns);
}

std::string SignedTimeText(double ns) {
  if (std::abs(ns) < 0.5) return "0 ns";
  return (ns > 0 ? "+" : "") + TimeText(ns);
}

std::string PercentText(double fraction, int digits) {
  return std::isfinite(fraction) ? fmt::format("{:.{}f}%", 100 * fraction, digits) : "-";
}

std::string SignedPercentText(double fraction, int digits) {
  return (fraction > 0 ? "+" : "") + PercentText(fraction, digits);
}

std::string ExactBytes(int64_t bytes) {
  return Exact(static_cast<double>(bytes), kBytes,
               [bytes](std::string_view text) { return ParseBytes(text) == bytes; });
}

std::string ExactBandwidth(double bytes_per_second) {
  return Exact(bytes_per_second, kBandwidths, [bytes_per_second](std::string_view text) {
    return ParseBandwidth(text) == bytes_per_second;
  });
}

std::string ExactDuration(int64_t ns) {
  return Exact(static_cast<double>(ns), kDurations,
               [ns](std::string_view text) { return ParseDuration(text) == ns; });
}

std::string ExactFlopRate(double flops_per_second) {
  return Exact(flops_per_second, kFlopRates,
               [flops_per_second](std::string_view text) { return ParseFlopRate(text) == flops_per_second; });
}

}  // namespace lanescope
