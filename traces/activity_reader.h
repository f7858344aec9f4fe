// Kernels, copies and memory sets of one run, joined with the commands and the API calls that caused them.
// Private to traces/.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/foreign_devices.h"
#include "traces/sqlite.h"
#include "traces/trace_reader.h"

namespace lanescope {

// Texts of StringIds, numbered anew from 0 as they are met.
class TextNumbers {
 public:
  explicit TextNumbers(Database& database);
  // -1 for an id that the file does not have.
  int Number(int64_t id);
  // Of a text that is not in StringIds; equal texts have one number.
  int Add(std::string_view text);
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

// Which processes belong to the run: those of LANESCOPE_PROCESS, or all.
class ProcessFilter {
 public:
  ProcessFilter() = default;  // all
  ProcessFilter(Database& database, int run);
  bool Has(int64_t global_pid) const {
    if (all_) return true;
    for (const int64_t pid : pids_) {
      if (pid == global_pid) return true;
    }
    return false;
  }

 private:
  bool all_ = true;
  std::vector<int64_t> pids_;
};

// Fills launches, copies, memsets and invalid_rows of `run`, whose devices, nodes, commands and API calls are
// there already.
void ReadActivities(Database& database, const ProcessFilter& processes, DeviceNumbers& devices,
                    int host_device, TextNumbers& texts, TraceRun* run);

}  // namespace lanescope
