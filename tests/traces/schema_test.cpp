#include "traces/schema.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/traces/sample_run.h"
#include "traces/sqlite.h"

namespace lanescope {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SchemaTest, DocumentMatchesTheSchema) {
  const std::string path = lanescope::test::SourceDir() + "/docs/schema.md";
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

// What SQLite makes of the CREATE statements has the columns of the list, in its order.
TEST(SchemaTest, TablesHaveTheColumnsOfTheList) {
  ScratchFile file;
  Database database(file.path(), OpenMode::kCreate);
  database.Execute("BEGIN;" + CreateAllSql() + "COMMIT;");
  database.Execute("BEGIN;" + CreateAllSql() + "COMMIT;");  // harmless a second time
  for (const auto tables : {NsysTables(), LanescopeTables()}) {
    for (const Table& table : tables) {
      std::vector<std::string> expected, found;
      for (const Column& column : table.columns) expected.emplace_back(column.name);
      Statement columns(database, "SELECT name FROM pragma_table_info('" + std::string(table.name) + "')");
      while (columns.Step()) found.emplace_back(columns.Text(0));
      EXPECT_EQ(found, expected) << table.name;
    }
  }
  EXPECT_EQ(database.QueryInteger("SELECT COUNT(*) FROM LANESCOPE_SCHEMA"), 1);
}

TEST(SchemaTest, KernelsHaveTheFortyColumnsOfTheExport) {
  EXPECT_EQ(FindTable("CUPTI_ACTIVITY_KIND_KERNEL").columns.size(), 40u);
  EXPECT_EQ(FindTable("CUPTI_ACTIVITY_KIND_MEMCPY").columns.size(), 21u);
}

TEST(SchemaTest, EveryColumnIsDocumented) {
  for (const auto tables : {NsysTables(), LanescopeTables()}) {
    for (const Table& table : tables) {
      EXPECT_FALSE(table.doc.empty()) << table.name;
      std::set<std::string_view> names;
      for (const Column& column : table.columns) {
        EXPECT_FALSE(column.doc.empty()) << table.name << "." << column.name;
        EXPECT_TRUE(names.insert(column.name).second) << table.name << "." << column.name;
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
}  // namespace lanescope
