// SPDX-License-Identifier: Apache-2.0
#include "traces/store/schema.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "tests/support/paths.h"
#include "tests/traces/sample_run.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/row_inserter.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SchemaTest, DocumentMatchesTheSchema) {
  const std::string path = lanescope::test::SourceDir() + "/docs/reference/schema.md";
  if (std::getenv("LANESCOPE_UPDATE_DOCS") != nullptr) std::ofstream(path) << SchemaMarkdown();
  EXPECT_EQ(ReadFile(path), SchemaMarkdown())
      << "run traces_tests with LANESCOPE_UPDATE_DOCS=1 and look at the difference";
}

// The file format: what a trace's own tables are made with, to the letter. A change of it is a step of
// kSchemaVersion.
TEST(SchemaTest, StatementsAreThoseOfTheFormat) {
  const std::string path = lanescope::test::SourceDir() + "/tests/golden/schema.sql";
  if (std::getenv("LANESCOPE_UPDATE_DOCS") != nullptr) std::ofstream(path) << CreateAllSql();
  EXPECT_EQ(ReadFile(path), CreateAllSql());
}

// SQLite's tables of the CREATE statements have the columns of the list, in its order.
TEST(SchemaTest, TablesHaveTheColumnsOfTheList) {
  ScratchFile file;
  Database database(file.path(), OpenMode::kCreate);
  database.Execute("BEGIN;" + CreateAllSql() + "COMMIT;");
  database.Execute("BEGIN;" + CreateAllSql() + "COMMIT;");  // harmless a second time
  for (const auto tables : {NsysTables(), LanescopeTables()}) {
    for (const Table* table : tables) {
      std::vector<std::string> expected, found;
      for (const Column& column : table->columns()) expected.emplace_back(column.name);
      Statement columns(database,
                        "SELECT name FROM pragma_table_info('" + std::string(table->sql_name()) + "')");
      while (columns.Step()) found.emplace_back(columns.Text(0));
      EXPECT_EQ(found, expected) << table->sql_name();
    }
  }
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(*) FROM LANESCOPE_SCHEMA"), 1);
}

// Rows of one inserter set the same columns in the same order; what they leave out is filled: gridX with 1,
// registersPerThread with 0, mangledName with NULL.
TEST(SchemaTest, InsertersBindColumnsByName) {
  ScratchFile file;
  Database database(file.path(), OpenMode::kCreate);
  database.Execute(CreateAllSql());
  constexpr const auto& to = tables::kKernel;
  RowInserter rows(database, to);
  for (int i = 0; i < 20; ++i) {
    rows.Add({{to.end, i + 10},
              {to.start, i},
              {to.device, 1},
              {to.context, 2},
              {to.stream, 3},
              {to.full_name, 4},
              {to.short_name, 5}});
  }
  EXPECT_THROW(rows.Add({{to.start, 1}, {to.end, 2}}), Error);
  RowInserter others(database, to);
  EXPECT_THROW(others.Add({{to.start, 1}, {to.start, 2}}), Error);
  RowInserter flushed(database, to);
  for (int i = 0; i < 20; ++i) {
    flushed.Add({{to.end, i + 10},
                 {to.start, i},
                 {to.device, 1},
                 {to.context, 2},
                 {to.stream, 3},
                 {to.full_name, 4},
                 {to.short_name, 5}});
  }
  flushed.Flush();
  EXPECT_EQ(
      database.QueryInteger("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE \"end\" = start + 10 "
                            "AND deviceId = 1 AND gridX = 1 AND registersPerThread = 0 AND mangledName "
                            "IS NULL"),
      36);
}

TEST(SchemaTest, EveryColumnIsDocumented) {
  for (const auto tables : {NsysTables(), LanescopeTables()}) {
    for (const Table* table : tables) {
      EXPECT_FALSE(table->about().empty()) << table->sql_name();
      std::set<std::string_view> names;
      for (const Column& column : table->columns()) {
        EXPECT_FALSE(column.doc.empty()) << table->sql_name() << "." << column.name;
        EXPECT_TRUE(names.insert(column.name).second) << table->sql_name() << "." << column.name;
      }
    }
  }
}

TEST(SchemaTest, EnumerationsUseTheExportsNumbers) {
  ScratchFile file;
  Database database(file.path(), OpenMode::kCreate);
  database.Execute("BEGIN;" + CreateAllSql() + "COMMIT;");
  EXPECT_EQ(database.QueryInteger("SELECT id FROM ENUM_CUDA_MEMCPY_OPER WHERE label = 'Device-to-Device'"),
            8);
  EXPECT_EQ(database.QueryInteger("SELECT id FROM ENUM_CUDA_MEMCPY_OPER WHERE label = 'Peer-to-Peer'"), 10);
  EXPECT_EQ(database.QueryInteger("SELECT id FROM ENUM_CUDA_MEM_KIND WHERE label = 'Unknown'"), 7);
  EXPECT_EQ(database.QueryInteger("SELECT id FROM ENUM_CUDA_KERNEL_LAUNCH_TYPE WHERE label = 'Regular'"), 1);
}

}  // namespace
}  // namespace lanescope::traces
