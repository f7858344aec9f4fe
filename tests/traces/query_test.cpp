// SPDX-License-Identifier: Apache-2.0
#include "traces/store/query.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/error.h"
#include "tests/traces/sample_run.h"
#include "traces/store/query_functions.h"
#include "traces/store/query_text.h"

namespace lanescope::traces {
namespace {

class QueryTest : public testing::Test {
 protected:
  QueryTest() {
    SampleRun sample;
    TraceWriter writer(file_.path());
    sample.WriteTo(&writer, 2);
    writer.Close();
  }
  Code CodeOf(const std::string& sql) {
    try {
      RunQuery(file_.path(), sql);
    } catch (const Error& error) {
      EXPECT_EQ(error.message().find('\n'), std::string::npos);
      return error.code();
    }
    return Code::kUnknown;
  }
  std::string Text(const std::string& sql) {
    std::string text;
    QueryTable table([&](std::string_view part) { text += part; });
    RunQuery(file_.path(), sql, {}, &table);
    table.Finish();
    return text;
  }
  std::string Json(const std::string& sql, const QueryLimits& limits = {}) {
    std::string text;
    QueryJson json([&](std::string_view part) { text += part; });
    json.Finish(RunQuery(file_.path(), sql, limits, &json));
    return text;
  }
  std::string Contents() {
    std::ifstream file(file_.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  ScratchFile file_;
};

TEST_F(QueryTest, GivesColumnsAndRows) {
  const std::string sql = "SELECT runId, strategy, 1.5 AS x, NULL AS none, x'00ff' AS b FROM LANESCOPE_RUN;";
  const QueryResult result = RunQuery(file_.path(), sql);
  EXPECT_EQ(result.columns, (std::vector<std::string>{"runId", "strategy", "x", "none", "b"}));
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_EQ(
      Json(sql),
      R"({"columns":["runId","strategy","x","none","b"],"rows":[[1,"alternating",1.5,null,"x'00ff'"]]})");
}

TEST_F(QueryTest, TextIsATable) {
  EXPECT_EQ(Text("SELECT name, nodeId FROM LANESCOPE_NODE WHERE nodeId IN (0, 3) ORDER BY nodeId"),
            "name    nodeId\n"
            "------  ------\n"
            "x            0\n"
            "unused       3\n");
}

TEST_F(QueryTest, InfinityIsNullInJson) {
  EXPECT_EQ(Json("SELECT 9e999 AS x"), R"({"columns":["x"],"rows":[[null]]})");
}

constexpr char kEndless[] = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n";

// Counts rows without keeping them, and ends the query by itself.
class EndingSink : public QuerySink {
 public:
  explicit EndingSink(int64_t end_at) : end_at_(end_at) {}
  void Begin(const std::vector<std::string>&) override {}
  void Add(QueryRow) override {
    if (++rows_ == end_at_) Throw(Code::kOutOfRange, "enough");
  }
  int64_t rows() const { return rows_; }

 private:
  const int64_t end_at_;
  int64_t rows_ = 0;
};

TEST_F(QueryTest, RowsComeWhileTheAnswerIsComputed) {
  EndingSink sink(100'000);
  EXPECT_THROW(RunQuery(file_.path(), kEndless, {}, &sink), Error);
  EXPECT_EQ(sink.rows(), 100'000);
}

TEST_F(QueryTest, TheFirstRowsSayHowWideATableIs) {
  std::string text;
  QueryTable table([&](std::string_view part) { text += part; });
  table.Begin({"n", "t"});
  for (int64_t i = 0; i < 999; ++i) table.Add({i, std::string("x")});
  EXPECT_EQ(text, "");
  table.Add({int64_t{999}, std::string("x")});
  table.Add({int64_t{10000}, std::string("longer")});
  table.Finish();
  EXPECT_EQ(text.substr(0, 17), "  n  t\n---  -\n  0");
  EXPECT_TRUE(text.ends_with("\n999  x\n10000  longer\n"));
}

TEST_F(QueryTest, AnAnswerIsCutAtTheLimitAndOnlyThere) {
  const std::string sql = "SELECT nodeId AS n FROM LANESCOPE_NODE ORDER BY nodeId";
  EXPECT_EQ(Json(sql, {2, 0}), R"({"columns":["n"],"rows":[[0],[1]],"cut":"rows"})");
  EXPECT_EQ(Json(sql, {4, 0}), R"({"columns":["n"],"rows":[[0],[1],[2],[3]]})");
}

TEST_F(QueryTest, TimeEndsAQueryWithOrWithoutRows) {
  EXPECT_TRUE(Json(kEndless, {0, 1'000'000}).ends_with(R"(],"cut":"time"})"));
  EXPECT_EQ(Json(std::string("SELECT COUNT(*) AS n FROM (") + kEndless + ")", {0, 1'000'000}),
            R"({"columns":["n"],"rows":[],"cut":"time"})");
}

TEST_F(QueryTest, AdmitsWhatOnlyReads) {
  for (const char* sql :
       {"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT SUM(x) FROM n",
        "PRAGMA table_info(StringIds)", "PRAGMA user_version", "SELECT * FROM pragma_table_info('StringIds')",
        "EXPLAIN QUERY PLAN SELECT * FROM StringIds", "SELECT COUNT(*) FROM sqlite_master; "}) {
    EXPECT_NO_THROW(RunQuery(file_.path(), sql)) << sql;
  }
}

TEST_F(QueryTest, AdmitsFunctionsOfEveryFamily) {
  for (const char* sql :
       {"SELECT max(1, 2), SUBSTR('abc', 2), 'a' LIKE 'A', 'a' GLOB '*', printf('%d', 1), iif(1, 2, 3)",
        "SELECT avg(x), count(*), group_concat(x), total(x) FROM (SELECT 1 AS x UNION SELECT 2)",
        "SELECT rank() OVER (ORDER BY nodeId), lag(nodeId) OVER (ORDER BY nodeId) FROM LANESCOPE_NODE",
        "SELECT date('now'), strftime('%s', 0), julianday(0), CURRENT_TIMESTAMP",
        R"(SELECT json_extract('{"a": [1]}', '$.a[0]'), json_group_array(x) FROM (SELECT 1 AS x))",
        R"(SELECT '{"a": 1}' ->> 'a', value FROM json_each('[1]'))"}) {
    EXPECT_NO_THROW(RunQuery(file_.path(), sql)) << sql;
  }
}

// However this SQLite was built, a function that is not known to be harmless is refused by its name.
TEST_F(QueryTest, RefusesFunctionsThatAreNotKnown) {
  const QueryResult functions = RunQuery(file_.path(), "SELECT DISTINCT name FROM pragma_function_list");
  std::set<std::string> refused;
  for (const QueryRow& row : functions.rows) {
    const auto& name = std::get<std::string>(row[0]);
    if (!IsQueryFunction(name)) refused.insert(name);
  }
  EXPECT_TRUE(refused.contains("load_extension"));
  EXPECT_LT(refused.size(), functions.rows.size() / 3);
  for (const std::string& name : refused) {
    for (const char* arguments : {"", "'simple'", "1, 2"}) {
      try {
        RunQuery(file_.path(), fmt::format("SELECT \"{}\"({})", name, arguments));
        ADD_FAILURE() << name;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kInvalidArgument) << name;
        if (error.message().find("wrong number of arguments") == std::string::npos) {
          EXPECT_NE(error.message().find(name), std::string::npos) << error.message();
        }
      }
    }
  }
  EXPECT_FALSE(IsQueryFunction("fts3_tokenizer"));
  EXPECT_FALSE(IsQueryFunction("abs acos"));
  EXPECT_FALSE(IsQueryFunction(""));
}

TEST_F(QueryTest, RefusesEverythingElse) {
  const std::string before = Contents();
  const std::string other = (file_.folder() / "other.db").string();
  for (const std::string& sql : std::vector<std::string>{"DELETE FROM LANESCOPE_RUN",
                                                         "UPDATE sqlite_master SET sql = ''",
                                                         "UPDATE LANESCOPE_RUN SET steps = 0",
                                                         "DROP TABLE StringIds",
                                                         "CREATE TABLE t (x)",
                                                         "CREATE TEMP TABLE t (x)",
                                                         "INSERT INTO StringIds VALUES (1000, 'x')",
                                                         "ATTACH '" + other + "' AS o",
                                                         "DETACH main",
                                                         "VACUUM",
                                                         "VACUUM INTO '" + other + "'",
                                                         "REINDEX",
                                                         "ANALYZE",
                                                         "BEGIN IMMEDIATE",
                                                         "PRAGMA journal_mode=WAL",
                                                         "PRAGMA user_version=5",
                                                         "PRAGMA writable_schema=1",
                                                         "PRAGMA wal_checkpoint",
                                                         "SELECT load_extension('x')",
                                                         "SELECT 1; SELECT 2",
                                                         "SELECT 1; DELETE FROM LANESCOPE_RUN",
                                                         "",
                                                         "  ;",
                                                         "SELEC 1",
                                                         "SELECT * FROM no_such_table",
                                                         "PRAGMA temp_store_directory='/tmp'"}) {
    EXPECT_EQ(CodeOf(sql), Code::kInvalidArgument) << sql;
  }
  EXPECT_EQ(Contents(), before);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(QueryTest, EndsSoonAfterItIsCancelled) {
  std::atomic<bool> cancelled{false};
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancelled = true;
  });
  try {
    RunQuery(file_.path(),
             "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n",
             &cancelled);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCancelled);
  }
  canceller.join();
}

}  // namespace
}  // namespace lanescope::traces
