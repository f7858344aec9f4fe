// SPDX-License-Identifier: Apache-2.0
#include "traces/store/baselines.h"

#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>

#include "core/base/error.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kBaselinesApplicationId = 0x4c6e5362;  // "LnSb"
constexpr int kBaselinesVersion = 1;
constexpr int64_t kMaxRunsOfRecord = 10'000, kMaxSamplesOfRecord = 100'000;

constexpr std::string_view kCreateBaselines = R"sql(
CREATE TABLE BASELINE (id INTEGER PRIMARY KEY, name TEXT NOT NULL, what TEXT NOT NULL, utcNs INTEGER NOT NULL);
CREATE TABLE BASELINE_SAMPLE (record INTEGER NOT NULL, run INTEGER NOT NULL, utcNs INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  quantity TEXT NOT NULL, value REAL NOT NULL, scale REAL NOT NULL, error REAL);
CREATE INDEX BASELINE_BY_NAME ON BASELINE (name);
CREATE INDEX BASELINE_SAMPLE_BY_RECORD ON BASELINE_SAMPLE (record);
)sql";

bool IsEmpty(const std::string& path) {
  std::error_code error;
  return !std::filesystem::exists(path, error) ||
         (std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) == 0);
}

void RefuseOthers(Database& database) {
  if (database.QueryInteger("PRAGMA application_id") != kBaselinesApplicationId) {
    Throw(Code::kFailedPrecondition, "{} is a database, but no store of baselines; name another file",
          database.name());
  }
  const int64_t version = database.QueryInteger("PRAGMA user_version");
  if (version > kBaselinesVersion) {
    Throw(Code::kFailedPrecondition,
          "{} was written by a newer version of Lanescope (version {} of its schema); update this one",
          database.name(), version);
  }
  if (!database.HasTable("BASELINE") || !database.HasTable("BASELINE_SAMPLE"))
    Throw(Code::kDataLoss, "{} is a damaged store of baselines: its tables are missing", database.name());
}

void BindReal(const Statement& statement, int parameter, double value) {
  // Only a parameter that is not there fails.
  sqlite3_bind_double(statement.handle(), parameter, value);
}

std::unique_ptr<Database> OpenStore(const std::string& path, BaselineStore::Access access) {
  if (access == BaselineStore::Access::kRead) {
    auto database = std::make_unique<Database>(path, OpenMode::kReadOnly);
    RefuseOthers(*database);
    return database;
  }
  if (!IsEmpty(path)) {
    // Looked at before anything may change.
    Database looked(path, OpenMode::kReadOnly);
    RefuseOthers(looked);
    return std::make_unique<Database>(path, OpenMode::kReadWrite);
  }
  auto database = std::make_unique<Database>(path, OpenMode::kCreate);
  database->Execute("BEGIN IMMEDIATE");
  database->Execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={};", kBaselinesApplicationId,
                                kBaselinesVersion));
  database->Execute(std::string(kCreateBaselines));
  database->Execute("COMMIT");
  return database;
}

class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) { database_.Execute("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (database_.InTransaction()) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void Commit() { database_.Execute("COMMIT"); }

 private:
  Database& database_;
};

// A size or a time; nothing that a run can have taken is negative or without end.
double Amount(const Statement& statement, int column, const Database& database) {
  const double amount = statement.Real(column);
  if (!(amount >= 0) || std::isinf(amount))
    Throw(Code::kDataLoss, "{} holds a baseline of {}, which no run takes", database.name(), amount);
  return amount;
}

std::vector<BaselineRun> RunsOf(Database& database, int64_t record) {
  Statement statement(
      database,
      "SELECT run, steps, quantity, value, scale, error, utcNs FROM BASELINE_SAMPLE WHERE record = ? "
      "ORDER BY run, rowid");
  statement.BindInteger(1, record);
  std::vector<BaselineRun> runs;
  int64_t last = -1, samples = 0;
  while (statement.Step()) {
    const int64_t run = statement.Integer(0);
    if (run < 0 || run >= kMaxRunsOfRecord || ++samples > kMaxSamplesOfRecord)
      Throw(Code::kDataLoss, "{} holds a baseline of more runs than there can be", database.name());
    if (runs.empty() || run != last) runs.push_back({statement.Integer(6), statement.Integer(1), {}});
    last = run;
    const double error =
        statement.IsNull(5) ? std::numeric_limits<double>::infinity() : Amount(statement, 5, database);
    runs.back().samples.push_back({std::string(statement.Text(2)), Amount(statement, 3, database),
                                   Amount(statement, 4, database), error});
  }
  return runs;
}

}  // namespace

BaselineStore::BaselineStore(const std::string& path, Access access) : database_(OpenStore(path, access)) {}
BaselineStore::~BaselineStore() = default;

std::vector<std::string> BaselineStore::Names() {
  Statement statement(*database_, "SELECT DISTINCT name FROM BASELINE ORDER BY name");
  std::vector<std::string> names;
  while (statement.Step()) names.emplace_back(statement.Text(0));
  return names;
}

std::vector<BaselineRecord> BaselineStore::Latest(const std::string& name, int count) {
  const Snapshot snapshot(*database_);
  Statement statement(*database_,
                      "SELECT id, what, utcNs FROM BASELINE WHERE name = ? ORDER BY id DESC LIMIT ?");
  statement.BindText(1, name);
  statement.BindInteger(2, count);
  std::vector<BaselineRecord> records;
  while (statement.Step()) {
    records.insert(records.begin(), {std::string(statement.Text(1)), statement.Integer(2),
                                     RunsOf(*database_, statement.Integer(0))});
  }
  return records;
}

void BaselineStore::Add(const std::string& name, const BaselineRecord& record) {
  Transaction transaction(*database_);
  Statement add(*database_, "INSERT INTO BASELINE (name, what, utcNs) VALUES (?, ?, ?)");
  add.BindText(1, name);
  add.BindText(2, record.what);
  add.BindInteger(3, record.utc_ns);
  add.Run();
  const int64_t number = sqlite3_last_insert_rowid(database_->handle());
  Statement sample(*database_,
                   "INSERT INTO BASELINE_SAMPLE (record, run, utcNs, steps, quantity, value, scale, error) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t run = 0; run < record.runs.size(); ++run) {
    for (const BaselineSample& of : record.runs[run].samples) {
      sample.BindInteger(1, number);
      sample.BindInteger(2, static_cast<int64_t>(run));
      sample.BindInteger(3, record.runs[run].utc_ns);
      sample.BindInteger(4, record.runs[run].steps);
      sample.BindText(5, of.quantity);
      BindReal(sample, 6, of.value);
      BindReal(sample, 7, of.scale);
      if (std::isfinite(of.error)) {
        BindReal(sample, 8, of.error);
      } else {
        sample.BindNull(8);
      }
      sample.Run();
    }
  }
  transaction.Commit();
}

}  // namespace lanescope::traces
