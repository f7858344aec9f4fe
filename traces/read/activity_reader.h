// SPDX-License-Identifier: Apache-2.0
// Kernels, copies and memory sets of one run, joined with the commands and the API calls that caused them.
// Internal to traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/read/run_sink.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// Texts of StringIds, numbered anew from 0 as they are met.
class TextNumbers {
 public:
  // `texts`: where those that were met go.
  TextNumbers(Database& database, std::vector<std::string>* texts);
  // -1 for none and for an id that the file does not have.
  int Number(std::optional<int64_t> id);
  // The number of a text that is not in StringIds; equal texts have one number.
  int Add(std::string_view text);
  // Until the next is added; "" for -1.
  std::string_view Text(int number) const {
    return number < 0 ? std::string_view() : std::string_view(texts_[static_cast<size_t>(number)]);
  }

 private:
  struct Entry {
    std::string text;
    int number = -1;
  };
  std::unordered_map<int64_t, Entry> entries_;
  std::unordered_map<std::string, int> added_;
  std::vector<std::string>& texts_;
};

// Gives the sink the activities of `run`, whose devices, nodes, commands and ranges are there already, and
// counts its invalid rows; before them its API calls, which it holds where `calls_kept` says so. Of a run
// without steps whose ranges look like some, sets those of the API calls and then the run's. `ours`: else
// every activity belongs to the run. When the last call or activity ended; INT64_MIN: there is none.
int64_t ReadActivities(Database& database, bool ours, bool calls_kept, TextNumbers& texts, TraceRun* run,
                       RunSink* sink);

}  // namespace lanescope::traces
