// SPDX-License-Identifier: Apache-2.0
// Tables and the width of their lines.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <sstream>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Tables : public testing::Test {
 protected:
  Tables() : name_("a_graph_with_" + std::string(100, 'x') + "_in_its_name") {
    graph_ = folder_.Write(name_ + ".pbtxt", ReadText(Sample("deepconn_dual")));
    folder_.Write(name_ + ".run.json",
                  ReadText(lanescope::test::SourceDir() + "/samples/graphs/deepconn_dual.run.json"));
  }
  ~Tables() override { unsetenv("COLUMNS"); }

  std::vector<std::string> Compare(const std::string& columns, bool full_names = false) const {
    setenv("COLUMNS", columns.c_str(), 1);
    std::vector<std::string> arguments{"compare", graph_ + ":annotated,single", "--no-run", "--machine",
                                       SampleMachine("k80x2")};
    if (full_names) arguments.push_back("--full-names");
    const Outcome outcome = Lanescope(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    return LinesOf(outcome.output);
  }
  static std::vector<std::string> LinesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
  // Counts lines of tables alone: not the verdict, nor what it is of.
  static size_t LongestOf(const std::vector<std::string>& lines) {
    size_t longest = 0;
    for (size_t i = 3; i < lines.size(); ++i) longest = std::max(longest, lines[i].size());
    return longest;
  }

  Folder folder_;
  std::string name_, graph_;
};

TEST_F(Tables, NamesGiveWayToTheWidth) {
  EXPECT_LE(LongestOf(Compare("80")), 80u);
  const size_t wide = LongestOf(Compare("150"));
  EXPECT_GT(wide, 120u);
  EXPECT_LE(wide, 150u);
}

TEST_F(Tables, WithoutAWidthThereIsADefault) {
  for (const char* columns : {"", "0", "-5", "wide", "80x"}) {
    const size_t longest = LongestOf(Compare(columns));
    EXPECT_LE(longest, 120u) << columns;
    EXPECT_GT(longest, 100u) << columns;
  }
}

TEST_F(Tables, FullNamesAreWhole) {
  std::string all;
  for (const std::string& line : Compare("80", true)) all += line + "\n";
  EXPECT_THAT(all, HasSubstr("\n" + name_ + " annotated"));
  EXPECT_THAT(all, Not(HasSubstr("...")));
}

}  // namespace
}  // namespace lanescope::cli
