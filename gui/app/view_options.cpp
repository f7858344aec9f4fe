// SPDX-License-Identifier: Apache-2.0
#include "gui/app/view_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/machine.h"

namespace lanescope::gui {
namespace {

constexpr int kMaxRun = 1'000'000;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// At the commas that a key follows: names of kernels have commas too.
std::vector<std::string_view> SplitAtKeys(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
    const size_t after = text.find_first_not_of(kLetters, comma + 1);
    if (after == std::string_view::npos || after == comma + 1 || text[after] != '=') continue;
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

int ParseNumber(std::string_view key, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxRun) {
    Throw(Code::kInvalidArgument, "--view: {}='{}' is no number of a run", key, text);
  }
  return value;
}

std::string ParseName(std::string_view key, std::string_view text,
                      std::initializer_list<std::string_view> names) {
  if (std::find(names.begin(), names.end(), text) != names.end()) return std::string(text);
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  Throw(Code::kInvalidArgument, "--view: {}='{}' is none of {}", key, text, all);
}

void ParseRange(std::string_view text, ViewOptions* options) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    Throw(Code::kInvalidArgument, "--view: range='{}'; write it as 2ms..8ms", text);
  }
  options->from_ns = ParseDuration(text.substr(0, dots));
  options->to_ns = ParseDuration(text.substr(dots + 2));
  if (*options->from_ns >= *options->to_ns) {
    Throw(Code::kInvalidArgument, "--view: range='{}' is empty", text);
  }
}

void ParseMove(std::string_view text, ViewOptions* options) {
  // Device names have colons too: the op ends at the first one.
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) {
    Throw(Code::kInvalidArgument, "--view: move='{}'; write it as OP:DEVICE, e.g. conv1:GPU:1", text);
  }
  options->move_name = text.substr(0, colon);
  options->move_device = text.substr(colon + 1);
}

void Set(std::string_view key, std::string_view value, ViewOptions* options) {
  if (key == "runs") {
    for (const std::string_view run : Split(value, '+')) options->runs.push_back(ParseNumber(key, run));
  } else if (key == "baseline") {
    options->baseline = ParseNumber(key, value);
  } else if (key == "range") {
    ParseRange(value, options);
  } else if (key == "select") {
    options->select = value;
  } else if (key == "search") {
    options->search = value;
  } else if (key == "tab") {
    options->tab = ParseName(key, value, {"selection", "statistics", "diff", "critical", "search", "sql"});
  } else if (key == "colour") {
    options->colour = ParseName(key, value, {"op", "device", "kind", "range", "error"});
  } else if (key == "lanes") {
    options->lanes = ParseName(key, value, {"all", "copies", "compute"});
  } else if (key == "fold") {
    options->fold = ParseName(key, value, {"threads", "all"});
  } else if (key == "critical") {
    options->critical = ParseName(key, value, {"on", "off"}) == "on";
  } else if (key == "move") {
    ParseMove(value, options);
  } else if (key == "set") {
    options->changes.push_back(std::string(value));
  } else if (key == "notes") {
    options->notes = ParseName(key, value, {"on", "off"}) == "on";
  } else if (key == "help") {
    options->help = ParseName(key, value, {"on", "off"}) == "on";
  } else {
    Throw(Code::kInvalidArgument,
          "--view has no key '{}'; there are runs, baseline, range, select, search, tab, colour, lanes, "
          "fold, critical, move, "
          "set, notes and help",
          key);
  }
}

}  // namespace

ViewOptions ParseViewOptions(std::string_view text) {
  ViewOptions options;
  if (text.empty()) return options;
  std::set<std::string_view> seen;
  for (const std::string_view part : SplitAtKeys(text)) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals + 1 == part.size()) {
      Throw(Code::kInvalidArgument, "--view: '{}' is not KEY=VALUE", part);
    }
    const std::string_view key = part.substr(0, equals);
    // Several changes are made one after the other.
    if (!seen.insert(key).second && key != "set")
      Throw(Code::kInvalidArgument, "--view: {} is given twice", key);
    Set(key, part.substr(equals + 1), &options);
  }
  return options;
}

}  // namespace lanescope::gui
