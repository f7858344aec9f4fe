// SPDX-License-Identifier: Apache-2.0
// The pages of docs/guides that answer a question: each command runs, and prints what its page says. Blocks
// marked "measured" depend on the computer: of these the tables must be the same, not the numbers.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

namespace fs = std::filesystem;

struct Block {
  std::vector<std::string> words;
  std::string output;
  bool measured = false;
};

// As a shell splits a line: quotes hold blanks together.
std::vector<std::string> SplitCommand(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, inside = false;
  for (const char c : line + ' ') {
    if (c == '"') {
      quoted = !quoted;
      inside = true;
    } else if (c == ' ' && !quoted) {
      if (inside) words.push_back(word);
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  return words;
}

// Writes the files of the page into the working directory.
std::vector<Block> BlocksOf(const std::string& page) {
  constexpr std::string_view kPrompt = "$ lanescope ", kFile = "```file ";
  std::vector<Block> blocks;
  std::istringstream lines(ReadText(page));
  bool inside = false, measured = false;
  std::ofstream file;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      measured = line == "```measured";
      inside = false;
      if (file.is_open()) file.close();
      if (line.starts_with(kFile)) file.open(line.substr(kFile.size()));
    } else if (file.is_open()) {
      file << line << "\n";
    } else if (line.starts_with(kPrompt)) {
      blocks.push_back({SplitCommand(line.substr(kPrompt.size())), "", measured});
      inside = true;
    } else if (inside) {
      blocks.back().output += line + "\n";
    }
  }
  return blocks;
}

// Documents keep no blanks at the ends of lines, and no empty lines at the end of an output.
std::string WithoutTrailingBlanks(const std::string& text) {
  std::istringstream lines(text);
  std::string trimmed;
  for (std::string line; std::getline(lines, line);)
    trimmed += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return trimmed.substr(0, trimmed.find_last_not_of('\n') + 1) + "\n";
}

// `output` with "..." in place of the lines for which `shown` has it.
std::string Shortened(const std::string& output, const std::string& shown) {
  std::istringstream lines(output), wanted(shown);
  std::string text, line;
  for (std::string want; std::getline(wanted, want);) {
    const bool skips = want == "...";
    if (skips) text += "...\n";
    if (skips && !std::getline(wanted, want)) return text;
    while (std::getline(lines, line) && skips && line != want) {
    }
    text += line + "\n";
  }
  while (std::getline(lines, line)) text += line + "\n";
  return text;
}

// The first cells of the lines of tables, which are the names of rows and columns.
std::vector<std::string> RowNames(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const size_t gap = line.find("  ");
    if (gap != std::string::npos && gap > 0) names.push_back(line.substr(0, gap));
  }
  return names;
}

// A folder with the samples in it, as the pages want it, left and removed at the end.
class SampleFolder {
 public:
  SampleFolder() : before_(fs::current_path()) {
    for (const std::string name : {"graphs", "machines", "torch", "traces"})
      fs::create_directory_symlink(lanescope::test::SourceDir() + "/samples/" + name, folder_.File(name));
    fs::current_path(folder_.File(""));
  }
  ~SampleFolder() { fs::current_path(before_); }

 private:
  Folder folder_;
  const fs::path before_;
};

// OpenGL drivers keep allocations and unload themselves before a leak check, which then cannot name them.
Outcome Answer(const std::vector<std::string>& words) {
  if (words.front() != "gui") return Lanescope(words);
  return Process(words, "", {"ASAN_OPTIONS=detect_leaks=0"}).Wait();
}

struct Page {
  const char* name;
  int pictures;
};

class Guides : public testing::TestWithParam<Page> {};

TEST_P(Guides, ShowWhatTheirCommandsPrint) {
  const std::string folder = lanescope::test::SourceDir() + "/docs/guides/";
  const std::string page = folder + GetParam().name + ".md";
  const SampleFolder samples;
  const std::vector<Block> blocks = BlocksOf(page);
  EXPECT_GE(blocks.size(), 2u);
  int pictures = 0;
  for (const Block& block : blocks) {
    const Outcome outcome = Answer(block.words);
    if (outcome.errors.find("built without its timeline") != std::string::npos)
      GTEST_SKIP() << outcome.errors;
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    if (block.measured) {
      EXPECT_EQ(RowNames(outcome.output), RowNames(block.output)) << outcome.output;
    } else {
      const std::string shown = WithoutTrailingBlanks(block.output);
      EXPECT_EQ(Shortened(WithoutTrailingBlanks(outcome.output), shown), shown);
    }
    for (const std::string& word : block.words) {
      if (!word.ends_with(".svg") && !word.ends_with(".png")) continue;
      ++pictures;
      EXPECT_THAT(ReadText(page), testing::HasSubstr("](" + word + ")"));
      EXPECT_GT(fs::file_size(word), 1000u);
      // Pixels depend on the driver that draws them.
      const auto decisive = [&](const std::string& path) {
        const std::string picture = ReadText(path);
        return word.ends_with(".png") ? picture.substr(16, 8) : picture;  // width and height
      };
      EXPECT_EQ(decisive(word), decisive(folder + word)) << word;
    }
  }
  EXPECT_EQ(pictures, GetParam().pictures);
}

INSTANTIATE_TEST_SUITE_P(, Guides,
                         testing::Values(Page{"fastest-placement", 1}, Page{"second-gpu", 1},
                                         Page{"nvlink", 1}, Page{"trace", 1}, Page{"tune-a-placement", 0},
                                         Page{"plan-a-cluster", 0}, Page{"which-plan", 1},
                                         Page{"read-a-trace", 0}, Page{"write-a-graph", 0},
                                         Page{"add-a-gpu", 0}),
                         [](const auto& page) {
                           std::string name = page.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(GuidePages, AreOnTheStartPage) {
  const std::string folder = lanescope::test::SourceDir() + "/docs/guides";
  const std::string start = ReadText(folder + "/README.md");
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (!name.ends_with(".md") || name == "README.md") continue;
    EXPECT_THAT(start, testing::HasSubstr("](" + name + ")"));
    const std::string page = ReadText(file.path().string());
    EXPECT_THAT(start, testing::HasSubstr(page.substr(2, page.find('\n') - 2)));
  }
}

}  // namespace
}  // namespace lanescope::cli
