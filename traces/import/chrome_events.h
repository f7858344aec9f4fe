// SPDX-License-Identifier: Apache-2.0
// The JSON of a Chrome trace, one event at a time. Internal to traces.
#pragma once

#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "traces/import/json_limits.h"

namespace lanescope::traces {

// How such a file is read. The times of an event ("ts", "dur") that are no whole numbers are texts of their
// digits: a double loses the last ones of times since 1970.
struct ChromeReading {
  JsonLimits* limits = nullptr;                            // told of every value
  std::function<void(const nlohmann::json& event)> event;  // of every event that is an object
  std::function<bool(std::string_view key)> keeps;         // whether a value beside the events is of use
};

// What a file says beside its events.
struct ChromeFile {
  nlohmann::json rest;  // an object, or null
  bool has_events = false;
  std::string problem;  // why it is no JSON; empty: it is
};

// What the limits and the callbacks throw passes.
ChromeFile ReadChromeEvents(std::istream& file, const ChromeReading& reading);

}  // namespace lanescope::traces
