// SPDX-License-Identifier: Apache-2.0
// Databases that are almost right: a sound one, changed by what a fuzzer's input decides. Changes by SQL keep
// the database readable and its content wrong; changes of bytes, cuts and journals damage the file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/scratch_folder.h"
#include "traces/store/sqlite.h"

namespace lanescope {

// A file with what SQLite may keep beside it; empty: no such file.
struct DatabaseFiles {
  std::string main, wal, journal;
};

// Makes hostile databases in its folder, one after another. Not thread-safe.
class HostileDatabase {
 public:
  explicit HostileDatabase(std::vector<DatabaseFiles> seeds) : seeds_(std::move(seeds)) {
    for (const DatabaseFiles& seed : seeds_) tables_.push_back(TablesOf(seed));
  }

  // The path of the next one.
  std::string Make(ByteSource* bytes) {
    const size_t which = bytes->Below(seeds_.size());
    DatabaseFiles files = seeds_[which];
    const size_t changes = bytes->Below(6);
    if (changes > 0) {
      const std::string path = Write(files);
      try {
        traces::Database database(path, traces::OpenMode::kReadWrite);
        database.Execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY; PRAGMA writable_schema=ON;");
        for (size_t i = 0; i < changes; ++i) ChangeContent(database, tables_[which], bytes);
      } catch (const Error&) {
        // SQLite keeps some things from being changed; they stay as they are.
      }
      files = {ReadFile(path), "", ""};
    }
    for (size_t i = bytes->Below(6); i > 0; --i) ChangeBytes(&files, bytes);
    return Write(files);
  }

  const ScratchFolder& folder() const { return folder_; }

 private:
  struct Table {
    std::string name;
    std::vector<std::string> columns;
  };

  std::string Write(const DatabaseFiles& files) const {
    folder_.Clear();
    if (!files.wal.empty()) folder_.Write("trace.db-wal", files.wal);
    if (!files.journal.empty()) folder_.Write("trace.db-journal", files.journal);
    return folder_.Write("trace.db", files.main);
  }

  std::vector<Table> TablesOf(const DatabaseFiles& seed) const {
    std::vector<Table> tables;
    traces::Database database(Write(seed), traces::OpenMode::kReadWrite);
    traces::Statement names(database, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
    while (names.Step()) tables.push_back({std::string(names.Text(0)), {}});
    for (Table& table : tables) table.columns = database.Columns(table.name);
    return tables;
  }

  static std::string Literal(ByteSource* bytes) {
    constexpr const char* kValues[] = {"NULL",  "'x'",     "x'00'", "x''",        "1e30",
                                       "9e999", "-1e-300", "''",    "'\xff\xfe'", "'GPU:0'"};
    const size_t which = bytes->Below(32);
    if (which < std::size(kValues)) return kValues[which];
    return "CAST('" + std::to_string(bytes->Integer()) + "' AS INTEGER)";
  }

  static void ChangeContent(traces::Database& database, const std::vector<Table>& tables, ByteSource* bytes) {
    const Table& table = tables[bytes->Below(tables.size())];
    const size_t kind = bytes->Below(16);
    const std::string name = '"' + table.name + '"';
    const std::string column =
        table.columns.empty() ? "rowid" : '"' + table.columns[bytes->Below(table.columns.size())] + '"';
    const std::string rows = " WHERE rowid % 3 = " + std::to_string(bytes->Below(3));
    if (kind < 9)
      return database.Execute("UPDATE OR IGNORE " + name + " SET " + column + " = " + Literal(bytes) + rows);
    if (kind == 9) {
      // Nearly the value that was there.
      return database.Execute("UPDATE OR IGNORE " + name + " SET " + column + " = " + column + " + " +
                              Literal(bytes) + rows);
    }
    if (kind == 10) return database.Execute("DELETE FROM " + name + rows);
    if (kind == 11)
      return database.Execute("INSERT OR IGNORE INTO " + name + " SELECT * FROM " + name + rows);
    if (kind == 12) return database.Execute("DROP TABLE " + name);
    if (kind == 13) return database.Execute("ALTER TABLE " + name + " RENAME COLUMN " + column + " TO other");
    if (kind == 14)
      return database.Execute("ALTER TABLE " + name + " RENAME TO other; CREATE VIEW " + name +
                              " AS SELECT * FROM other");
    database.Execute("PRAGMA user_version = " + std::to_string(bytes->Integer()));
  }

  static void ChangeBytes(DatabaseFiles* files, ByteSource* bytes) {
    std::string* file = &files->main;
    if (bytes->Bool() && !files->wal.empty()) file = &files->wal;
    if (bytes->Bool() && !files->journal.empty()) file = &files->journal;
    if (file->empty()) return;
    // Most of what matters stands at the beginning of pages.
    const size_t at =
        (bytes->Bool() ? bytes->Below(64) : bytes->Below(65536) * 64 + bytes->Below(64)) % file->size();
    if (bytes->OneIn(16)) {
      file->resize(at);
    } else {
      const std::string text = bytes->Text(8);
      file->replace(at, std::min(text.size(), file->size() - at), text);
    }
  }

  std::vector<DatabaseFiles> seeds_;
  std::vector<std::vector<Table>> tables_;  // by seed
  ScratchFolder folder_;
};

}  // namespace lanescope
