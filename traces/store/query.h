// SPDX-License-Identifier: Apache-2.0
// SQL on a trace, for reading only.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lanescope::traces {

// A blob is shown in hexadecimal, "x'00ff'".
using QueryValue = std::variant<std::monostate, int64_t, double, std::string>;
using QueryRow = std::vector<QueryValue>;

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<QueryRow> rows;
};

// Where an answer ends.
enum class QueryEnd { kAll, kRowLimit, kTimeout };

// Takes an answer while it is computed.
class QuerySink {
 public:
  virtual ~QuerySink() = default;
  // First, once.
  virtual void Begin(const std::vector<std::string>& columns) = 0;
  virtual void Add(QueryRow row) = 0;
};

struct QueryLimits {
  int64_t max_rows = 0;    // 0: no limit
  int64_t timeout_ns = 0;  // from the start; 0: no limit
};

// Runs one statement and holds one row at a time. The file is opened read-only, and an authorizer admits
// nothing but reading: no writing, no attaching, no loading, no pragma that changes something, and no
// function but those of query_functions.h. Throws InvalidArgument for bad SQL, for several statements, and
// for what is not allowed; Cancelled soon after
// `*cancelled` became true (null: never).
QueryEnd RunQuery(const std::string& path, const std::string& sql, const QueryLimits& limits, QuerySink* sink,
                  const std::atomic<bool>* cancelled = nullptr);

// The whole answer in memory.
QueryResult RunQuery(const std::string& path, const std::string& sql,
                     const std::atomic<bool>* cancelled = nullptr);

}  // namespace lanescope::traces
