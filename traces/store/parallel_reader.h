// SPDX-License-Identifier: Apache-2.0
// Reads large tables on several threads. Internal to traces.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "traces/store/table_reader.h"

namespace lanescope::traces {

// A part of a table and who reads it. The parts one after the other are the table in the order of the file; a
// worker reads its parts from begin to end, one at a time.
struct Stretch {
  int part = 0;
  int worker = 0;
};

// The receiver of a pass' progress, who may end it.
struct ReadWatch {
  const std::atomic<bool>* cancelled = nullptr;
  // Gets 0..1, from any of the threads, one at a time.
  std::function<void(double)> progress;
};

// A trace file open for reading in parallel: one state of it, whoever writes meanwhile. Every thread reads
// through a connection of its own. Belongs to one thread, which waits while others work.
class ParallelReader {
 public:
  // Throws what TraceReader throws.
  ParallelReader(const std::string& path, int threads);
  // Through this connection, and others where that is inside a transaction that keeps the file as it is.
  ParallelReader(Database& database, int threads);
  ~ParallelReader();
  ParallelReader(const ParallelReader&) = delete;
  ParallelReader& operator=(const ParallelReader&) = delete;

  Database& database();
  int threads() const { return threads_; }
  // About how many rows, by the largest row number; 0 for a table that is not there.
  int64_t EstimateRows(const Table& table);

  // Calls `begin(parts)` once, then `visit(stretch, RowOf<T>)` for every row, for different parts at the same
  // time. Throws DataLoss as ReadRows does, Cancelled soon after the watch said so.
  template <typename T, typename Begin, typename Visit>
  void Read(const T& table, const std::vector<Wanted<std::type_identity_t<T>>>& columns,
            const ReadWatch& watch, Begin begin, Visit visit) {
    ReadParts(table, watch, begin,
              [&](Database& connection, const std::string& where, Stretch stretch, Count& count) {
                ReadRowsOf(connection, table, columns, where, [&](const RowOf<T>& row) {
                  visit(stretch, row);
                  count();
                });
              });
  }

 private:
  class Progress;
  // To be called after every row.
  class Count {
   public:
    explicit Count(Progress* progress) : progress_(progress) {}
    void operator()() {
      if (++rows_ == kRowsPerLook) Look();
    }
    void Look();

   private:
    static constexpr int64_t kRowsPerLook = 4096;
    Progress* progress_;
    int64_t rows_ = 0;
  };
  using ReadPart = std::function<void(Database&, const std::string& where, Stretch, Count& count)>;
  void ReadParts(const Table& table, const ReadWatch& watch, const std::function<void(int)>& begin,
                 const ReadPart& read);
  void OpenOthers();

  const int threads_;
  std::unique_ptr<Database> own_;
  Database* first_;
  std::vector<std::unique_ptr<Database>> others_;
};

}  // namespace lanescope::traces
