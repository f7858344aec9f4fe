// SPDX-License-Identifier: Apache-2.0
// SQLite with exceptions: a connection, a snapshot and a prepared statement that close themselves, and typed
// access that trusts no file. Internal to traces. Thread-compatible: a connection and its statements belong
// to one thread at a time. Internal to traces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace lanescope::traces {

enum class OpenMode { kReadOnly, kReadWrite, kCreate };

class Database {
 public:
  // Throws NotFound, FailedPrecondition (permissions, or no regular file) or DataLoss (not a database).
  // What a killed writer left is read too: its journal is rolled back, and where the folder may not be
  // written to, its log is read without the index that SQLite keeps beside it.
  // Messages say `name`, where that is not empty.
  Database(const std::string& path, OpenMode mode, std::string name = "");

  sqlite3* handle() const { return handle_.get(); }
  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  void Execute(const std::string& sql);
  int64_t QueryInteger(const std::string& sql);
  std::string QueryText(const std::string& sql);
  // An ordinary table (no view, no virtual table), so that reading it computes nothing.
  bool HasTable(std::string_view table);
  // The columns that hold data: none that is generated or hidden.
  std::vector<std::string> Columns(std::string_view table);
  bool HasColumn(std::string_view table, std::string_view column);
  bool InTransaction() const;
  // Throws the Error that stands for an SQLite result code; `doing` completes "cannot ...".
  [[noreturn]] void Fail(int result, std::string_view doing) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  void Open(const std::string& name, int flags, const char* files);
  // Reads the first page; the extended result code.
  int Probe();
  void OpenForReading();
  void OpenUnlocked();

  std::string path_, name_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// While it lives, all statements see the same state of a file that may be growing, and the file is locked
// once instead of by each of them. Inside another transaction it does nothing.
class Snapshot {
 public:
  explicit Snapshot(Database& database);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Database* database_;  // null inside another transaction
};

// Names of columns are the same whatever their case.
bool HasName(const std::vector<std::string>& names, std::string_view name);

class Statement {
 public:
  Statement(Database& database, const std::string& sql);

  sqlite3_stmt* handle() const { return handle_.get(); }
  // Parameters count from 1.
  void BindInteger(int parameter, int64_t value);
  void BindText(int parameter, std::string_view value);  // copied
  void BindNull(int parameter);
  // True: a row is there. False: done, and the statement is ready to run again.
  bool Step();
  void Run();
  void Reset();

  // Columns count from 0. A value of another type throws DataLoss naming the column; NULL yields `fallback`.
  int64_t Integer(int column, int64_t fallback = 0) const;
  double Real(int column, double fallback = 0) const;
  std::string_view Text(int column, std::string_view fallback = {}) const;  // valid until the next Step
  bool IsNull(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  [[noreturn]] void WrongType(int column, const char* expected) const;
  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

}  // namespace lanescope::traces
