// SPDX-License-Identifier: Apache-2.0
// Manual pages and completions hold what --help prints, and the programs that read them understand them.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/cli/shell_command.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

// The first words of the lines after `title` in the program's help.
std::vector<std::string> CommandsOfHelp() {
  std::istringstream lines(Lanescope({"--help"}).output);
  std::vector<std::string> commands;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Subcommands:") {
      inside = true;
    } else if (inside && line.starts_with("  ") && line[2] != ' ') {
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
    } else if (line.empty()) {
      inside = false;
    }
  }
  return commands;
}

// The long options that a command's help lists.
std::set<std::string> OptionsOfHelp(const std::string& command) {
  std::istringstream lines(Lanescope({command, "--help"}).output);
  const std::regex option("^  (-[a-z],)?(--[a-z0-9-]+)");
  std::set<std::string> options;
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_search(line, match, option)) options.insert(match[2]);
  return options;
}

std::string WithoutEscapes(const std::string& page) {
  std::string text;
  for (size_t i = 0; i < page.size(); ++i)
    if (page[i] != '\\') text += page[i];
  return text;
}

// docs/reference/options.md is what the program says of its options, to the letter.
TEST(Manual, ThePageOfOptionsIsTheProgramsOwn) {
  const Outcome made = Lanescope({"manual", "--options"});
  ASSERT_EQ(made.status, 0) << made.errors;
  const std::string path = test::SourceDir() + "/docs/reference/options.md";
  if (std::getenv("LANESCOPE_UPDATE_DOCS") != nullptr) std::ofstream(path) << made.output;
  std::ostringstream page;
  page << std::ifstream(path).rdbuf();
  EXPECT_EQ(page.str(), made.output)
      << "run cli_tests with LANESCOPE_UPDATE_DOCS=1, and look at the difference";
  EXPECT_EQ(Lanescope({"manual"}).status, 1);
  for (const std::string& command : CommandsOfHelp()) {
    for (const std::string& option : OptionsOfHelp(command))
      EXPECT_THAT(page.str(), HasSubstr("`" + option + "`")) << command;
  }
}

TEST(Manual, HasAPageForEachCommandWithEachOption) {
  const Folder folder;
  ASSERT_EQ(Lanescope({"manual", folder.File("man1")}).status, 0);
  const std::string program = ReadText(folder.File("man1/lanescope.1"));
  const std::vector<std::string> commands = CommandsOfHelp();
  EXPECT_GE(commands.size(), 19u);
  for (const std::string& command : commands) {
    EXPECT_THAT(program, HasSubstr("fB" + command));
    const std::string page = WithoutEscapes(ReadText(folder.File("man1/lanescope-" + command + ".1")));
    EXPECT_THAT(page, HasSubstr("lanescope " + command)) << command;
    const std::set<std::string> options = OptionsOfHelp(command);
    EXPECT_THAT(options, Contains("--help")) << command;
    for (const std::string& option : options) EXPECT_THAT(page, HasSubstr(option)) << command;
  }
  size_t pages = 0;
  for ([[maybe_unused]] const auto& page : std::filesystem::directory_iterator(folder.File("man1"))) ++pages;
  EXPECT_EQ(pages, commands.size() + 1);
}

TEST(Manual, IsTheSameForTheSameDay) {
  const Folder folder;
  for (const std::string name : {"a", "b"}) {
    Process process({"manual", folder.File(name)}, "", {"SOURCE_DATE_EPOCH=1000000000"});
    ASSERT_EQ(process.Wait().status, 0);
  }
  EXPECT_THAT(ReadText(folder.File("a/lanescope-run.1")), HasSubstr("2001-09-09"));
  EXPECT_EQ(ReadText(folder.File("a/lanescope-run.1")), ReadText(folder.File("b/lanescope-run.1")));
  Process process({"manual", folder.File("c")}, "", {"SOURCE_DATE_EPOCH=soon"});
  ExpectError(process.Wait(), 1, "InvalidArgument", "SOURCE_DATE_EPOCH");
}

TEST(Manual, IsGoodToMandoc) {
  if (!HasProgram("mandoc")) GTEST_SKIP() << "mandoc is not installed";
  const Folder folder;
  ASSERT_EQ(Lanescope({"manual", folder.File("man1")}).status, 0);
  const ShellOutcome outcome = RunShell("mandoc -T lint -W warning " + folder.File("man1") + "/*.1");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const ShellOutcome page = RunShell("mandoc -T utf8 " + folder.File("man1/lanescope-run.1") + " | col -b");
  EXPECT_THAT(page.output, HasSubstr("lanescope run [OPTIONS] graph"));
  EXPECT_THAT(page.output, HasSubstr("--steps INT"));
  EXPECT_THAT(page.output,
              HasSubstr("  lanescope run samples/graphs/polynomial.pbtxt --steps 20 --trace t.db"));
}

// A shell and how it is asked for what it offers: for each of LINES it prints "> line" and an offer a line.
struct ShellUnderTest {
  std::string name;
  std::string command;  // SCRIPT, FOLDER, SOURCES and LINES stand for the completions, and what they are for
};

using Offers = std::map<std::string, std::set<std::string>>;

Offers AskFor(const ShellUnderTest& shell, const std::vector<std::string>& lines) {
  const Folder folder;
  std::string command = shell.command, quoted;
  for (const std::string& line : lines) quoted += "\"" + line + "\" ";
  const std::pair<std::string, std::string> values[] = {
      {"SCRIPT", folder.Write("_lanescope", Lanescope({"completions", shell.name}).output)},
      {"FOLDER", folder.File("")},
      {"SOURCES", test::SourceDir()},
      {"LINES", quoted}};
  for (const auto& [name, value] : values)
    for (size_t at; (at = command.find(name)) != std::string::npos;) command.replace(at, name.size(), value);
  const ShellOutcome outcome = RunShell(command);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  Offers offers;
  std::set<std::string>* now = nullptr;
  std::istringstream output(outcome.output);
  for (std::string offer; std::getline(output, offer);) {
    offer.erase(offer.find_last_not_of(" \r") + 1);
    if (offer.starts_with("> ")) {
      now = &offers[lines.at(offers.size())];
    } else if (now != nullptr && !offer.empty()) {
      now->insert(offer.substr(0, offer.find('\t')));
    }
  }
  EXPECT_EQ(offers.size(), lines.size()) << outcome.output;
  return offers;
}

void ExpectCompletions(const ShellUnderTest& shell) {
  const std::vector<std::string> commands = CommandsOfHelp();
  std::vector<std::string> lines{"lanescope ",
                                 "lanescope co",
                                 "lanescope run --pro",
                                 "lanescope run --profile ",
                                 "lanescope compare --strategies single,al",
                                 "lanescope completions "};
  for (const std::string& command : commands) lines.push_back("lanescope " + command + " --");
  Offers offers = AskFor(shell, lines);
  for (const std::string& command : commands) EXPECT_THAT(offers[lines[0]], Contains(command));
  EXPECT_THAT(offers[lines[1]], UnorderedElementsAre("compare", "completions"));
  EXPECT_THAT(offers[lines[2]], UnorderedElementsAre("--profile"));
  EXPECT_THAT(offers[lines[3]], UnorderedElementsAre("auto", "off", "kernels", "full"));
  EXPECT_THAT(offers[lines[4]], UnorderedElementsAre(EndsWith("alternating")));
  EXPECT_THAT(offers[lines[5]], UnorderedElementsAre("bash", "zsh", "fish"));
  for (const std::string& command : commands) {
    const std::set<std::string>& offered = offers["lanescope " + command + " --"];
    for (const std::string& option : OptionsOfHelp(command))
      EXPECT_THAT(offered, Contains(option)) << command;
    EXPECT_THAT(offered, Not(Contains("run"))) << command;
  }
}

TEST(Completions, OfBash) {
  ExpectCompletions({"bash",
                     "source SCRIPT && complete -p lanescope > /dev/null || exit 1; for line in LINES; do "
                     "printf \"> %s\\n\" \"$line\"; read -r -a COMP_WORDS <<< \"$line\"; "
                     "[[ $line == *\" \" ]] && COMP_WORDS+=(\"\"); "
                     "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _lanescope; "
                     "printf \"%s\\n\" \"${COMPREPLY[@]}\"; done"});
}

TEST(Completions, OfFish) {
  if (!HasProgram("fish")) GTEST_SKIP() << "fish is not installed";
  ExpectCompletions({"fish",
                     "HOME=FOLDER fish --no-config -c 'source SCRIPT; for line in LINES; "
                     "echo \"> $line\"; complete --do-complete $line; end'"});
}

TEST(Completions, OfZsh) {
  if (!HasProgram("zsh")) GTEST_SKIP() << "zsh is not installed";
  ExpectCompletions({"zsh", "cd FOLDER && zsh -f SOURCES/tests/cli/offers.zsh FOLDER LINES"});
}

}  // namespace
}  // namespace lanescope::cli
