// SPDX-License-Identifier: Apache-2.0
#include "traces/store/trace_file.h"

#include <sqlite3.h>

#include <filesystem>

#include "core/base/error.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/schema.h"
#include "traces/store/trace_kind.h"

namespace lanescope::traces {
namespace {

constexpr int kFinishTimeoutMs = 1000;

// SQLite writes on in pages that are damaged, which can make what was readable unreadable. Larger files are
// not looked through: it would take seconds.
constexpr int64_t kLookedThroughBytes = int64_t{32} << 20;

[[noreturn]] void Refuse(const std::string& path, std::string_view what) {
  Throw(Code::kFailedPrecondition, "{} {}; it was not touched: write the trace to another file", path, what);
}

// Looks without changing anything. A file or database with nothing in it counts as a new one: a writer that
// was killed as it began leaves one.
void RefuseWhatTakesNoRuns(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  if (std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) == 0) return;
  int64_t application = 0, version = 0;
  bool empty = false;
  bool nsys = false, has_runs = false, damaged = false;
  try {
    Database database(path, OpenMode::kReadOnly);
    application = database.QueryInteger("PRAGMA application_id");
    version = database.QueryInteger("PRAGMA user_version");
    empty = database.QueryInteger("PRAGMA page_count") > 0 &&
            database.QueryInteger("SELECT COUNT(*) FROM main.sqlite_schema") == 0;
    has_runs = database.HasTable(tables::kRun.sql_name());
    nsys = database.HasTable(tables::kKernel.sql_name()) ||
           database.HasTable(tables::kExportMetaData.sql_name());
    if (application == kTraceApplicationId && !empty &&
        database.QueryInteger("PRAGMA page_count") * database.QueryInteger("PRAGMA page_size") <=
            kLookedThroughBytes)
      damaged = database.QueryText("PRAGMA quick_check(1)") != "ok";
  } catch (const Error& failure) {
    if (failure.code() == Code::kDataLoss) Refuse(path, "is no trace");
    throw;
  }
  if (application == 0 && version == 0 && empty) return;
  if (application != kTraceApplicationId) {
    Refuse(path, nsys ? "is another tool's trace" : "is a database, but no trace");
  }
  if (version > kSchemaVersion) Refuse(path, "was written by a newer version of Lanescope");
  if (version > 0 && version < kOldestSchemaVersion)
    Refuse(path, "was written before the first version of Lanescope");
  if (damaged) Refuse(path, "is damaged");
  // Its activities would be taken for those of the runs to come, which have the same numbers.
  if (!empty && !has_runs) Refuse(path, "is a damaged trace, without its table of runs");
}

// From here on every change goes through the log: whoever is killed leaves nothing to undo, and readers never
// wait. The switch itself changes one byte in the first sector, and the pages before and after it differ in
// nothing else, so it needs no journal beside the file either.
//
// What does not take our tables is refused before that byte changes.
void EnterLog(Database& database) {
  if (database.QueryText("PRAGMA journal_mode") == "wal") return;
  database.Execute("PRAGMA journal_mode=MEMORY; BEGIN IMMEDIATE;");
  database.Execute(CreateAllSql());
  database.Execute("ROLLBACK");
  if (database.QueryText("PRAGMA journal_mode=WAL") != "wal") {
    Throw(Code::kFailedPrecondition, "{} is on a file system where SQLite has no log; write elsewhere",
          database.name());
  }
}

void CreateSchema(Database& database) {
  const bool is_new = database.QueryInteger("PRAGMA application_id") == 0;
  database.Execute("BEGIN IMMEDIATE");
  database.Execute(
      fmt::format("PRAGMA application_id={}; PRAGMA user_version={};", kTraceApplicationId, kSchemaVersion));
  database.Execute(CreateAllSql());
  database.Execute("COMMIT");
  // So that the header of the file itself tells what it is.
  if (is_new) database.Execute("PRAGMA wal_checkpoint(PASSIVE)");
}

}  // namespace

// Only what is no database is opened otherwise: closing a file also gives up the locks that connections of
// this process hold on it.
Database OpenTraceForReading(const std::string& path) {
  try {
    return {path, OpenMode::kReadOnly};
  } catch (const Error& error) {
    if (error.code() == Code::kDataLoss) RefuseOtherTraces(path);
    throw;
  }
}

Database OpenTraceForWriting(const std::string& path, const std::string& name) {
  RefuseWhatTakesNoRuns(path);
  Database database(path, OpenMode::kCreate, name);
  if (sqlite3_db_readonly(database.handle(), "main") == 1) {
    Throw(Code::kFailedPrecondition, "{} may not be written to; write the trace to another file", name);
  }
  // Large pages and a late checkpoint: rows are written once, in order, and a checkpoint holds up the load.
  database.Execute("PRAGMA page_size=16384; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;");
  EnterLog(database);
  database.Execute("PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=8192;");
  CreateSchema(database);
  return database;
}

void FinishTraceFile(Database& database) {
  // Rows are sorted on disk where they are many, and the load's cache is not needed any more.
  database.Execute("PRAGMA temp_store=FILE; PRAGMA cache_size=-16384; PRAGMA shrink_memory;");
  for (const Index& index : TraceIndexes()) {
    database.Execute(fmt::format("CREATE INDEX IF NOT EXISTS {} ON {} ({})", index.name,
                                 index.table->sql_name(), index.column));
  }
  sqlite3_busy_timeout(database.handle(), kFinishTimeoutMs);
  try {
    database.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
    // A file says only whether it has a log; MEMORY leaves it without one, and without a journal for the
    // step.
    database.Execute("PRAGMA journal_mode=MEMORY");
  } catch (const Error& failure) {
    if (failure.code() != Code::kAborted) throw;
  }
}

}  // namespace lanescope::traces
