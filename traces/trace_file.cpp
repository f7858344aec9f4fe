#include "traces/trace_file.h"

#include <sqlite3.h>

#include <filesystem>

#include "core/error.h"
#include "traces/schema.h"

namespace lanescope {
namespace {

constexpr int kFinishTimeoutMs = 1000;

[[noreturn]] void Refuse(const std::string& path, std::string_view what) {
  Throw(Code::kFailedPrecondition, "{} {}; it was not touched: write the trace to another file", path, what);
}

// Looks without changing anything. An empty file counts as a new one.
bool IsNewOrOurs(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return true;
  if (std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) == 0)
    return true;
  int64_t application = 0, version = 0;
  bool nsys = false;
  try {
    Database database(path, OpenMode::kReadOnly);
    application = database.QueryInteger("PRAGMA application_id");
    version = database.QueryInteger("PRAGMA user_version");
    nsys = database.HasTable("CUPTI_ACTIVITY_KIND_KERNEL") || database.HasTable("META_DATA_EXPORT");
  } catch (const Error& failure) {
    if (failure.code() == Code::kDataLoss) Refuse(path, "is no trace");
    throw;
  }
  if (application != kTraceApplicationId) {
    Refuse(path, nsys ? "is another tool's trace" : "is a database, but no trace");
  }
  if (version > kSchemaVersion) Refuse(path, "was written by a newer version of Lanescope");
  return true;
}

// Before WAL mode, so that the header of the file itself tells what it is.
void CreateSchema(Database& database) {
  database.Execute(
      fmt::format("PRAGMA application_id={}; PRAGMA user_version={};", kTraceApplicationId, kSchemaVersion));
  database.Execute(CreateAllSql());
}

}  // namespace

Database OpenTraceForWriting(const std::string& path) {
  IsNewOrOurs(path);
  Database database(path, OpenMode::kCreate);
  if (sqlite3_db_readonly(database.handle(), "main") == 1) {
    Throw(Code::kFailedPrecondition, "{} may not be written to; write the trace to another file", path);
  }
  // Large pages and a late checkpoint: rows are written once, in order, and a checkpoint holds up the load.
  database.Execute("PRAGMA page_size=16384; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;");
  database.Execute("BEGIN IMMEDIATE");
  CreateSchema(database);
  database.Execute("COMMIT");
  database.Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=8192;");
  return database;
}

void FinishTraceFile(Database& database) {
  for (const Index& index : TraceIndexes()) {
    database.Execute(
        fmt::format("CREATE INDEX IF NOT EXISTS {} ON {} ({})", index.name, index.table, index.column));
  }
  sqlite3_busy_timeout(database.handle(), kFinishTimeoutMs);
  try {
    database.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
    database.Execute("PRAGMA journal_mode=DELETE");
  } catch (const Error& failure) {
    if (failure.code() != Code::kAborted) throw;
  }
}

}  // namespace lanescope
