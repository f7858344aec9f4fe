// SPDX-License-Identifier: Apache-2.0
// The examples of the documents, run as they are printed.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

struct Example {
  std::vector<std::string> words;
  std::string output;
};

// Without blanks at the ends of lines, which a document does not keep.
std::string Trimmed(const std::string& text) {
  std::istringstream lines(text);
  std::string trimmed;
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    trimmed += line + "\n";
  }
  return trimmed;
}

// The code blocks that begin with "$ lanescope ...".
std::vector<Example> ExamplesOf(const std::string& path) {
  constexpr std::string_view kPrompt = "$ lanescope ";
  std::vector<Example> examples;
  std::istringstream lines(ReadText(path));
  bool in_example = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) in_example = false;
    if (in_example) examples.back().output += line + "\n";
    if (!line.starts_with(kPrompt)) continue;
    in_example = true;
    std::istringstream words(line.substr(kPrompt.size()));
    examples.emplace_back();
    for (std::string word; words >> word;) examples.back().words.push_back(word);
  }
  return examples;
}

// Modelled machines give the same figures everywhere.
TEST(Documents, ExamplesOnModelledMachinesPrintWhatTheySay) {
  std::filesystem::current_path(lanescope::test::SourceDir() + "/samples");
  int checked = 0;
  for (const Example& example : ExamplesOf(lanescope::test::SourceDir() + "/docs/reference/cli.md")) {
    if (std::find(example.words.begin(), example.words.end(), "machines/k80x2.json") == example.words.end())
      continue;
    const Outcome outcome = Lanescope(example.words);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(Trimmed(outcome.output), Trimmed(example.output));
    ++checked;
  }
  EXPECT_EQ(checked, 5);  // devices, place, simulate, compare, gate
}

}  // namespace
}  // namespace lanescope::cli
