// SPDX-License-Identifier: Apache-2.0
// How far a long piece of work has come, on standard error.
#pragma once

#include <cstdint>
#include <string>

namespace lanescope::cli {

// Says nothing in the first second and at most one line a second after that; on a terminal the line is
// rewritten in place. Not thread-safe.
class Progress {
 public:
  Progress(std::string what, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(int64_t done);

 private:
  std::string what_;
  int64_t total_;
  int64_t next_ns_;
  bool terminal_;
  bool shown_ = false;
};

}  // namespace lanescope::cli
