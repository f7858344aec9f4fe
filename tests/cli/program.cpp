// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>

#include "core/base/file.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

constexpr int kPolls =
    12000;  // two minutes: a loaded machine takes its time, and only a failure waits so long

// In the child: no allocation between fork and exec.
[[noreturn]] void Execute(char* const* arguments, char* const* environment, const char* input,
                          const char* output, const char* errors) {
  setpgid(0, 0);
  const int in = open(input, O_RDONLY);
  const int out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Folder::Folder() {
  path_ = testing::TempDir() + "lanescope-cli-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::Write(const std::string& name, std::string_view text) const {
  std::ofstream file(File(name), std::ios::binary);
  file << text;
  return File(name);
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Sample(const std::string& graph) {
  return lanescope::test::SourceDir() + "/samples/graphs/" + graph + ".pbtxt";
}

std::string CsvReader(const Folder& folder, bool with_runners) {
  const std::string samples = lanescope::test::SourceDir() + "/samples/pipelines/";
  std::string graph = ReadFile(samples + "csv_reader.pbtxt");
  const std::string data = "samples/pipelines/instances.csv";
  graph.replace(graph.find(data), data.size(), samples + "instances.csv");
  nlohmann::json spec = nlohmann::json::parse(ReadFile(samples + "csv_reader.run.json"));
  if (!with_runners) spec.erase("queue_runners");
  folder.Write("csv_reader.run.json", spec.dump());
  return folder.Write("csv_reader.pbtxt", graph);
}
std::string SampleMachine(const std::string& name) {
  return lanescope::test::SourceDir() + "/samples/machines/" + name + ".json";
}

Process::Process(const std::vector<std::string>& arguments, std::string_view input,
                 const std::vector<std::string>& environment) {
  std::vector<std::string> words{lanescope::test::ProgramPath()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables(environment);
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  const std::vector<char*> argument_pointers = Pointers(words), variable_pointers = Pointers(variables);
  const std::string in = folder_.Write("input", input), out = folder_.File("output"),
                    err = folder_.File("errors");
  process_ = fork();
  if (process_ == 0)
    Execute(argument_pointers.data(), variable_pointers.data(), in.c_str(), out.c_str(), err.c_str());
}

Process::~Process() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Process::Signal(int number) { kill(process_, number); }

bool Process::WaitForHandler(int number) {
  for (int i = 0; i < kPolls; ++i) {
    std::ifstream status(fmt::format("/proc/{}/status", process_));
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigCgt:")) continue;
      const uint64_t caught = std::stoull(line.substr(7), nullptr, 16);
      if (caught >> (number - 1) & 1) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

bool Process::WaitForFile(const std::string& path, int64_t bytes) {
  for (int i = 0; i < kPolls; ++i) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (!error && static_cast<int64_t>(size) >= bytes) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

Outcome Process::Wait() {
  Outcome outcome;
  int how = 0;
  for (int i = 0; waitpid(process_, &how, WNOHANG) == 0; ++i) {
    if (i == kPolls * 10) kill(-process_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  outcome.left_children = kill(-process_, SIGKILL) == 0;
  process_ = -1;
  outcome.status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
  outcome.output = ReadText(folder_.File("output"));
  std::istringstream errors(ReadText(folder_.File("errors")));
  static const std::regex progress("(step|importing, in percent:) [0-9]+ of [0-9]+");
  for (std::string line; std::getline(errors, line);) {
    if ((line.starts_with("step ") || line.starts_with("importing")) && std::regex_match(line, progress))
      continue;
    outcome.errors += line;
    if (!errors.eof()) outcome.errors += '\n';
  }
  return outcome;
}

Outcome Lanescope(const std::vector<std::string>& arguments, std::string_view input) {
  return Process(arguments, input).Wait();
}

nlohmann::json LanescopeJson(const std::vector<std::string>& arguments, std::string_view input) {
  const Outcome outcome = Lanescope(arguments, input);
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  nlohmann::json json = nlohmann::json::parse(outcome.output, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << outcome.output;
  return json;
}

void ExpectError(const Outcome& outcome, int status, const std::string& code, const std::string& text) {
  EXPECT_EQ(outcome.status, status) << outcome.errors;
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, testing::StartsWith("error: " + code + ": "));
  EXPECT_THAT(outcome.errors, testing::HasSubstr(text));
  EXPECT_EQ(outcome.errors.find('\n'), outcome.errors.size() - 1) << outcome.errors;
}

}  // namespace lanescope::cli
