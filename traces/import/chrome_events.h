// SPDX-License-Identifier: Apache-2.0
// The JSON of a Chrome trace, one event at a time. Internal to traces.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <streambuf>
#include <string>
#include <string_view>

#include "traces/import/event_fields.h"
#include "traces/import/json_limits.h"

namespace lanescope::traces {

// How such a file is read.
struct ChromeReading {
  JsonLimits* limits = nullptr;                         // told of every value
  std::function<void(const ChromeEvent& event)> event;  // of every event that is an object
  std::function<bool(std::string_view key)> keeps;      // whether a value beside the events is of use
};

// A file's fields beside its events.
struct ChromeFile {
  nlohmann::json rest;  // an object, or null
  bool has_events = false;
  std::string problem;     // why it is no JSON; empty: it is
  int64_t mended = 0;      // texts, words and commas that were no JSON
  bool cut_short = false;  // the file ends before its list of events does
};

// Errors of limits and callbacks pass.
ChromeFile ReadChromeEvents(std::streambuf* file, const ChromeReading& reading);

}  // namespace lanescope::traces
