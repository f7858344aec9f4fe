// Kernels and copies of one run, joined with the commands that caused them. Private to traces/.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/sqlite.h"
#include "traces/trace_reader.h"

namespace lanescope {

// Texts of StringIds, numbered anew from 0 as they are met.
class TextNumbers {
 public:
  explicit TextNumbers(Database& database);
  // -1 for an id that the file does not have.
  int Number(int64_t id);
  std::vector<std::string> TakeTexts() { return std::move(texts_); }

 private:
  struct Entry {
    std::string text;
    int number = -1;
  };
  std::unordered_map<int64_t, Entry> entries_;
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

// Fills launches, copies and invalid_rows of `run`, whose devices, nodes and commands are there already.
void ReadActivities(Database& database, const ProcessFilter& processes, int host_device, TextNumbers& texts,
                    TraceRun* run);

}  // namespace lanescope
