#include "traces/query.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "traces/printable.h"
#include "traces/sqlite.h"
#include "traces/trace_kind.h"

namespace lanescope {
namespace {

// Instructions of SQLite's machine between two looks at the cancel flag.
constexpr int kProgressInterval = 10'000;
constexpr size_t kMaxColumnWidth = 60;

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
      return second != nullptr && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
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

int Interrupted(void* flag) {
  return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed) ? 1 : 0;
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

std::string CellText(const QueryValue& value) {
  std::string text;
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    text = fmt::format("{}", *integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    text = fmt::format("{}", *real);
  } else if (const auto* string = std::get_if<std::string>(&value)) {
    text = Printable(*string);
  }
  if (text.size() <= kMaxColumnWidth) return text;
  size_t cut = kMaxColumnWidth - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  return text.substr(0, cut) + "...";
}

// Code points, so that columns of UTF-8 text line up.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool IsNumber(const QueryValue& value) { return value.index() == 1 || value.index() == 2; }

void AppendCell(const std::string& text, size_t width, bool right, bool last, std::string* line) {
  const std::string padding(width - std::min(width, WidthOf(text)), ' ');
  if (right) *line += padding;
  *line += text;
  if (!right && !last) *line += padding;
  if (!last) *line += "  ";
}

nlohmann::json JsonOf(const QueryValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) {
    return std::isfinite(*real) ? nlohmann::json(*real) : nlohmann::json();
  }
  if (const auto* string = std::get_if<std::string>(&value)) return *string;
  return nullptr;
}

}  // namespace

QueryResult RunQuery(const std::string& path, const std::string& sql, const std::atomic<bool>* cancelled) {
  RefuseOtherTraces(path);
  Database database(path, OpenMode::kReadOnly);
  sqlite3_set_authorizer(database.handle(), Authorize, nullptr);
  if (cancelled != nullptr) {
    sqlite3_progress_handler(database.handle(), kProgressInterval, Interrupted,
                             const_cast<std::atomic<bool>*>(cancelled));
  }
  const StatementHandle statement = Prepare(database, sql);
  QueryResult result;
  const int columns = sqlite3_column_count(statement.get());
  for (int i = 0; i < columns; ++i) result.columns.emplace_back(sqlite3_column_name(statement.get(), i));
  int status = SQLITE_ROW;
  while ((status = sqlite3_step(statement.get())) == SQLITE_ROW) {
    std::vector<QueryValue>& row = result.rows.emplace_back();
    for (int i = 0; i < columns; ++i) row.push_back(ValueOf(statement.get(), i));
  }
  if (status != SQLITE_DONE) FailQuery(database, status);
  return result;
}

std::string QueryText(const QueryResult& result) {
  const size_t columns = result.columns.size();
  std::vector<size_t> widths;
  std::vector<bool> right(columns, false);
  for (const std::string& name : result.columns) widths.push_back(WidthOf(name));
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : result.rows) {
    std::vector<std::string>& line = cells.emplace_back();
    for (size_t i = 0; i < columns; ++i) {
      line.push_back(CellText(row[i]));
      widths[i] = std::max(widths[i], WidthOf(line.back()));
      if (IsNumber(row[i])) right[i] = true;
    }
  }
  std::string out;
  const auto append = [&](const std::vector<std::string>& line) {
    for (size_t i = 0; i < columns; ++i) AppendCell(line[i], widths[i], right[i], i + 1 == columns, &out);
    out += '\n';
  };
  append(result.columns);
  for (size_t i = 0; i < columns; ++i) out += std::string(widths[i], '-') + (i + 1 == columns ? "" : "  ");
  out += '\n';
  for (const auto& line : cells) append(line);
  return out;
}

std::string QueryJson(const QueryResult& result) {
  auto rows = nlohmann::json::array();
  for (const auto& row : result.rows) {
    auto list = nlohmann::json::array();
    for (const QueryValue& value : row) list.push_back(JsonOf(value));
    rows.push_back(std::move(list));
  }
  const nlohmann::json json = {{"columns", result.columns}, {"rows", std::move(rows)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace lanescope
