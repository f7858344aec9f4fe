// SPDX-License-Identifier: Apache-2.0
#include "traces/store/sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "core/base/error.h"

namespace lanescope::traces {
namespace {

constexpr int kBusyTimeoutMs = 10'000;
// No text or blob of a trace is larger; a file that claims otherwise is refused before memory is asked for.
constexpr int kMaxValueBytes = 256 << 20;

// A limit on the size of files or on a user's share of the disk.
bool IsDiskFull(int result, int system_error) {
  return (result & 0xff) == SQLITE_FULL ||
         ((result & 0xff) == SQLITE_IOERR &&
          (system_error == ENOSPC || system_error == EFBIG || system_error == EDQUOT));
}

Code CodeOf(int result) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_MISMATCH:
    case SQLITE_IOERR:
    case SQLITE_TOOBIG:
      return Code::kDataLoss;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return Code::kResourceExhausted;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Code::kFailedPrecondition;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::kAborted;
    case SQLITE_INTERRUPT:
      return Code::kCancelled;
    default:
      return Code::kInvalidArgument;
  }
}

std::string_view AdviceOf(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return "; the disk is full: free some space or write elsewhere";
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "; check that its folder exists and may be written to";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "; another program holds the file: close it or try again";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "; the file is damaged or not a SQLite database";
    default:
      return "";
  }
}

// SQLite would wait for the other end of a pipe, and read a device without end.
void CheckIsFile(const std::string& path, OpenMode mode) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    if (mode == OpenMode::kCreate) return;
    Throw(Code::kNotFound, "no such file: {}", path);
  }
  if (std::filesystem::is_directory(status)) {
    Throw(Code::kFailedPrecondition, "{} is a folder; name a file", path);
  }
  if (!std::filesystem::is_regular_file(status)) {
    Throw(Code::kFailedPrecondition, "{} is a pipe or a device; name a file", path);
  }
}

std::string ImmutableUri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Database::Database(const std::string& path, OpenMode mode, std::string name)
    : path_(path), name_(name.empty() ? path : std::move(name)) {
  CheckIsFile(path, mode);
  if (mode == OpenMode::kReadOnly) {
    OpenForReading();
  } else {
    Open(path, SQLITE_OPEN_READWRITE | (mode == OpenMode::kCreate ? SQLITE_OPEN_CREATE : 0), nullptr);
  }
}

// `files`: which of SQLite's ways to reach files; null: its own choice.
void Database::Open(const std::string& name, int flags, const char* files) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, files);
  handle_.reset(handle);
  if (result != SQLITE_OK) Fail(result, "open");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  // The schema of a foreign file runs no functions with side effects and cannot be edited as a table.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  Execute("PRAGMA cell_size_check=ON");
}

int Database::Probe() {
  sqlite3_exec(handle(), "PRAGMA schema_version", nullptr, nullptr, nullptr);
  return sqlite3_extended_errcode(handle());
}

void Database::OpenForReading() {
  Open(path_, SQLITE_OPEN_READONLY, nullptr);
  const int result = Probe();
  if (result == SQLITE_READONLY_ROLLBACK) {
    Open(path_, SQLITE_OPEN_READWRITE, nullptr);
    if (Probe() == SQLITE_READONLY_ROLLBACK) {
      Throw(
          Code::kFailedPrecondition,
          "{}: its writer was killed, and what that began must be undone first; copy the file together with "
          "{}-journal to a folder that may be written to",
          path_, path_);
    }
    Open(path_, SQLITE_OPEN_READONLY, nullptr);
  } else if ((result & 0xff) == SQLITE_CANTOPEN || (result & 0xff) == SQLITE_READONLY) {
    std::error_code error;
    if (!std::filesystem::exists(path_ + "-shm", error)) OpenUnlocked();
  } else if (result == SQLITE_NOTADB) {
    Fail(result, "read");
  }
  // Anything else is told by the first statement.
}

// A log without its index, in a folder where there can be none, has no writer: nothing has to be locked, and
// the index can be kept in memory.
void Database::OpenUnlocked() {
  std::error_code error;
  if (std::filesystem::exists(path_ + "-wal", error)) {
    Open(path_, SQLITE_OPEN_READONLY, "unix-none");
    sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    Execute("PRAGMA locking_mode=EXCLUSIVE");
  } else {
    Open(ImmutableUri(path_), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  }
}

void Database::Execute(const std::string& sql) {
  const int result = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) Fail(result, "access");
}

int64_t Database::QueryInteger(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.Step() ? statement.Integer(0) : 0;
}

std::string Database::QueryText(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.Step() ? std::string(statement.Text(0)) : std::string();
}

bool Database::HasTable(std::string_view table) {
  Statement statement(
      *this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND rootpage > 0 LIMIT 1");
  statement.BindText(1, table);
  return statement.Step();
}

std::vector<std::string> Database::Columns(std::string_view table) {
  Statement statement(*this, "SELECT name FROM pragma_table_info(?)");
  statement.BindText(1, table);
  std::vector<std::string> columns;
  while (statement.Step()) columns.emplace_back(statement.Text(0));
  return columns;
}

bool Database::HasColumn(std::string_view table, std::string_view column) {
  return HasName(Columns(table), column);
}

bool Database::InTransaction() const { return sqlite3_get_autocommit(handle()) == 0; }

void Database::Fail(int result, std::string_view doing) const {
  // SQLite keeps the reason only when a statement is reset.
  const int system_error = errno;
  if (IsDiskFull(result, system_error) ||
      (handle() != nullptr && IsDiskFull(result, sqlite3_system_errno(handle())))) {
    result = SQLITE_FULL;
  }
  std::string why = handle() != nullptr ? sqlite3_errmsg(handle()) : sqlite3_errstr(result);
  std::replace(why.begin(), why.end(), '\n', ' ');
  Throw(CodeOf(result), "cannot {} {}: {}{}", doing, name_, why, AdviceOf(result));
}

Snapshot::Snapshot(Database& database) : database_(database.InTransaction() ? nullptr : &database) {
  if (database_ != nullptr) database_->Execute("BEGIN");
}

Snapshot::~Snapshot() {
  if (database_ == nullptr) return;
  try {
    database_->Execute("ROLLBACK");
  } catch (const Error&) {
    // A transaction that only reads has nothing to lose.
  }
}

bool HasName(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const std::string& each) {
    return each.size() == name.size() &&
           sqlite3_strnicmp(each.data(), name.data(), static_cast<int>(name.size())) == 0;
  });
}

void Statement::Finalize::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

Statement::Statement(Database& database, const std::string& sql) : database_(&database) {
  sqlite3_stmt* handle = nullptr;
  const int result =
      sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &handle, nullptr);
  handle_.reset(handle);
  if (result != SQLITE_OK) database.Fail(result, "access");
}

void Statement::BindInteger(int parameter, int64_t value) {
  const int result = sqlite3_bind_int64(handle(), parameter, value);
  if (result != SQLITE_OK) database_->Fail(result, "access");
}

void Statement::BindText(int parameter, std::string_view value) {
  const int result = sqlite3_bind_text64(handle(), parameter, value.data() == nullptr ? "" : value.data(),
                                         value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (result != SQLITE_OK) database_->Fail(result, "access");
}

void Statement::BindNull(int parameter) {
  const int result = sqlite3_bind_null(handle(), parameter);
  if (result != SQLITE_OK) database_->Fail(result, "access");
}

bool Statement::Step() {
  const int result = sqlite3_step(handle());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) {
    // The message is gone after the reset.
    try {
      database_->Fail(result, "access");
    } catch (...) {
      sqlite3_reset(handle());
      throw;
    }
  }
  sqlite3_reset(handle());
  return false;
}

void Statement::Run() {
  while (Step()) {
  }
}

void Statement::Reset() { sqlite3_reset(handle()); }

void Statement::WrongType(int column, const char* expected) const {
  Throw(Code::kDataLoss, "{}: column {} holds something that is not {}; the file is damaged or no trace",
        database_->name(), sqlite3_column_name(handle(), column), expected);
}

int64_t Statement::Integer(int column, int64_t fallback) const {
  switch (sqlite3_column_type(handle(), column)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(handle(), column);
    case SQLITE_NULL:
      return fallback;
    default:
      WrongType(column, "an integer");
  }
}

double Statement::Real(int column, double fallback) const {
  switch (sqlite3_column_type(handle(), column)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
      return sqlite3_column_double(handle(), column);
    case SQLITE_NULL:
      return fallback;
    default:
      WrongType(column, "a number");
  }
}

std::string_view Statement::Text(int column, std::string_view fallback) const {
  switch (sqlite3_column_type(handle(), column)) {
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle(), column));
      if (text == nullptr)
        Throw(Code::kResourceExhausted, "out of memory while reading {}", database_->name());
      return {text, static_cast<size_t>(sqlite3_column_bytes(handle(), column))};
    }
    case SQLITE_NULL:
      return fallback;
    default:
      WrongType(column, "text");
  }
}

bool Statement::IsNull(int column) const { return sqlite3_column_type(handle(), column) == SQLITE_NULL; }

}  // namespace lanescope::traces
