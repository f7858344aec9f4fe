// SPDX-License-Identifier: Apache-2.0
#include "traces/store/query.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/error.h"
#include "traces/store/query_functions.h"
#include "traces/store/sqlite.h"
#include "traces/store/trace_file.h"

namespace lanescope::traces {
namespace {

// Instructions of SQLite's machine between two looks at the cancel flag.
constexpr int kProgressInterval = 10'000;

// Pragmas that only tell something, whatever their argument.
constexpr std::string_view kTellingPragmas[] = {
    "table_info",       "table_xinfo",   "table_list",     "index_list",    "index_info",     "index_xinfo",
    "foreign_key_list", "database_list", "collation_list", "function_list", "compile_options"};
// Pragmas that only tell something when they have no argument.
constexpr std::string_view kSettablePragmas[] = {"user_version", "application_id", "schema_version",
                                                 "page_count",   "page_size",      "encoding",
                                                 "journal_mode"};

template <typename List>
bool Contains(const List& list, const char* name) {
  return std::any_of(std::begin(list), std::end(list), [name](std::string_view entry) {
    return sqlite3_stricmp(std::string(entry).c_str(), name) == 0;
  });
}

int Authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && IsQueryFunction(second) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_UPDATE:
      // SQLite asks for this while it sets up a table-valued pragma; a statement that does it is refused
      // later.
      return first != nullptr && std::strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
      if (first == nullptr) return SQLITE_DENY;
      if (Contains(kTellingPragmas, first)) return SQLITE_OK;
      return second == nullptr && Contains(kSettablePragmas, first) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

// The conditions that end a statement before its last row.
struct QueryWatch {
  const std::atomic<bool>* cancelled = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

  bool IsCancelled() const { return cancelled != nullptr && cancelled->load(std::memory_order_relaxed); }
  bool IsLate() const { return std::chrono::steady_clock::now() >= deadline; }
};

int IsOver(void* watch) {
  const auto* query = static_cast<const QueryWatch*>(watch);
  return query->IsCancelled() || query->IsLate() ? 1 : 0;
}

bool IsBlank(const char* sql) {
  // Comments and semicolons prepare to nothing too.
  return std::strspn(sql, " \t\r\n;") == std::strlen(sql);
}

QueryValue ValueOf(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT:
      return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, column)),
                         static_cast<size_t>(sqlite3_column_bytes(statement, column)));
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
      const int size = sqlite3_column_bytes(statement, column);
      std::string hex = "x'";
      for (int i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
      return hex + "'";
    }
    default:
      return std::monostate();
  }
}

struct StatementCloser {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, StatementCloser>;

[[noreturn]] void FailQuery(const Database& database, int result) {
  switch (result & 0xff) {
    case SQLITE_INTERRUPT:
      Throw(Code::kCancelled, "the query was interrupted");
    case SQLITE_AUTH:
      Throw(Code::kInvalidArgument, "the query is not allowed: traces are queried for reading only ({})",
            sqlite3_errmsg(database.handle()));
    case SQLITE_ERROR:
      Throw(Code::kInvalidArgument, "the query cannot run: {}", sqlite3_errmsg(database.handle()));
    default:
      database.Fail(result, "query");
  }
}

StatementHandle Prepare(Database& database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const char* tail = nullptr;
  const int result =
      sqlite3_prepare_v2(database.handle(), sql.c_str(), static_cast<int>(sql.size()) + 1, &statement, &tail);
  StatementHandle handle(statement);
  if (result != SQLITE_OK) FailQuery(database, result);
  if (statement == nullptr) Throw(Code::kInvalidArgument, "the query is empty; give one SELECT statement");
  if (tail != nullptr && !IsBlank(tail)) {
    Throw(Code::kInvalidArgument, "the query has more than one statement; give one");
  }
  if (sqlite3_stmt_readonly(statement) == 0) {
    Throw(Code::kInvalidArgument, "the query is not allowed: traces are queried for reading only");
  }
  return handle;
}

// Collects everything.
class QueryCollector : public QuerySink {
 public:
  void Begin(const std::vector<std::string>& columns) override { result_.columns = columns; }
  void Add(QueryRow row) override { result_.rows.push_back(std::move(row)); }
  QueryResult Take() { return std::move(result_); }

 private:
  QueryResult result_;
};

}  // namespace

QueryEnd RunQuery(const std::string& path, const std::string& sql, const QueryLimits& limits, QuerySink* sink,
                  const std::atomic<bool>* cancelled) {
  Database database = OpenTraceForReading(path);
  sqlite3_set_authorizer(database.handle(), Authorize, nullptr);
  QueryWatch watch{cancelled};
  if (limits.timeout_ns > 0) {
    watch.deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limits.timeout_ns);
  }
  sqlite3_progress_handler(database.handle(), kProgressInterval, IsOver, &watch);
  const StatementHandle statement = Prepare(database, sql);
  const int num_columns = sqlite3_column_count(statement.get());
  std::vector<std::string> columns;
  for (int i = 0; i < num_columns; ++i) columns.emplace_back(sqlite3_column_name(statement.get(), i));
  sink->Begin(columns);
  int status = SQLITE_ROW;
  for (int64_t rows = 0; (status = sqlite3_step(statement.get())) == SQLITE_ROW; ++rows) {
    if (limits.max_rows > 0 && rows == limits.max_rows) return QueryEnd::kRowLimit;
    // Rows that come without much work in between do not reach the progress handler.
    if (watch.IsCancelled()) FailQuery(database, SQLITE_INTERRUPT);
    if (watch.IsLate()) return QueryEnd::kTimeout;
    QueryRow row;
    for (int i = 0; i < num_columns; ++i) row.push_back(ValueOf(statement.get(), i));
    sink->Add(std::move(row));
  }
  if (status == SQLITE_DONE) return QueryEnd::kAll;
  if ((status & 0xff) == SQLITE_INTERRUPT && !watch.IsCancelled()) return QueryEnd::kTimeout;
  FailQuery(database, status);
}

QueryResult RunQuery(const std::string& path, const std::string& sql, const std::atomic<bool>* cancelled) {
  QueryCollector collector;
  RunQuery(path, sql, {}, &collector, cancelled);
  return collector.Take();
}

}  // namespace lanescope::traces
