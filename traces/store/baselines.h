// SPDX-License-Identifier: Apache-2.0
// Times of earlier runs of a program, by name, in one SQLite file: what a gate compares with, and how much
// one baseline differs from the next.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lanescope::traces {

class Database;

// One quantity of one run: ns or bytes.
struct BaselineSample {
  std::string quantity;
  double value = 0, scale = 0, error = 0;  // `error` may be infinite
};

struct BaselineRun {
  int64_t utc_ns = 0;  // when it began; 0: nobody says
  int64_t steps = 0;
  std::vector<BaselineSample> samples;
};

// Runs that were stored together.
struct BaselineRecord {
  std::string what;    // where they came from, for people
  int64_t utc_ns = 0;  // when they were stored
  std::vector<BaselineRun> runs;
};

// A record appears whole or not at all. Thread-compatible. What a damaged or hostile file holds ends in
// DataLoss.
class BaselineStore {
 public:
  enum class Access { kRead, kAppend };
  // kAppend makes the file where there is none. Throws NotFound, FailedPrecondition (another database, one of
  // a newer version, permissions), DataLoss (no database); a file that is refused is not touched.
  BaselineStore(const std::string& path, Access access);
  ~BaselineStore();
  BaselineStore(const BaselineStore&) = delete;
  BaselineStore& operator=(const BaselineStore&) = delete;

  // Each once, sorted.
  std::vector<std::string> Names();
  // The latest of a name, at most so many, the oldest of them first.
  std::vector<BaselineRecord> Latest(const std::string& name, int count);
  void Add(const std::string& name, const BaselineRecord& record);

 private:
  std::unique_ptr<Database> database_;
};

}  // namespace lanescope::traces
