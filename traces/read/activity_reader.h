// Kernels, copies and memory sets of one run, joined with the commands and the API calls that caused them.
// Internal to traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// Texts of StringIds, numbered anew from 0 as they are met.
class TextNumbers {
 public:
  explicit TextNumbers(Database& database);
  // -1 for none and for an id that the file does not have.
  int Number(std::optional<int64_t> id);
  // Of a text that is not in StringIds; equal texts have one number.
  int Add(std::string_view text);
  // Until the next is added; "" for -1.
  std::string_view Text(int number) const {
    return number < 0 ? std::string_view() : std::string_view(texts_[static_cast<size_t>(number)]);
  }
  std::vector<std::string> TakeTexts() { return std::move(texts_); }

 private:
  struct Entry {
    std::string text;
    int number = -1;
  };
  std::unordered_map<int64_t, Entry> entries_;
  std::unordered_map<std::string, int> added_;
  std::vector<std::string> texts_;
};

// Fills launches, copies, memsets and invalid_rows of `run`, whose devices, nodes, commands and API calls are
// there already. `ours`: else every activity belongs to the run.
void ReadActivities(Database& database, bool ours, TextNumbers& texts, TraceRun* run);

}  // namespace lanescope::traces
