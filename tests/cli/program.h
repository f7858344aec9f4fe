// SPDX-License-Identifier: Apache-2.0
// The program as its users run it: a process with arguments, standard streams, an exit status, and Ctrl-C.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lanescope::cli {

struct Outcome {
  int status = -1;     // exit status, or 128 and the number of the signal that ended it
  std::string output;  // standard output
  std::string errors;  // standard error but for progress, whose lines appear only where a machine is slow
  bool left_children = false;  // processes that it had started were still there
};

// A folder of one test, removed with it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // Returns the path.
  std::string Write(const std::string& name, std::string_view text) const;

 private:
  std::string path_;
};

std::string ReadText(const std::string& path);
std::string Sample(const std::string& graph);  // samples/graphs/NAME.pbtxt
// The sample of an input pipeline, written into `folder`, with its data where a test finds them.
std::string CsvReader(const Folder& folder, bool with_runners = true);
std::string SampleMachine(const std::string& name);  // samples/machines/NAME.json

// A running lanescope, in a process group of its own.
class Process {
 public:
  // `environment`: "NAME=VALUE", beside what this process has.
  explicit Process(const std::vector<std::string>& arguments, std::string_view input = "",
                   const std::vector<std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Signal(int number);
  // True once it handles the signal itself, so that Signal cannot just end it; gives up after two minutes.
  bool WaitForHandler(int number);
  // True while it runs and `path` has not yet grown to `bytes`; gives up after two minutes.
  bool WaitForFile(const std::string& path, int64_t bytes);
  // Kills it, and what it left, after two minutes.
  Outcome Wait();

 private:
  Folder folder_;
  pid_t process_ = -1;
};

Outcome Lanescope(const std::vector<std::string>& arguments, std::string_view input = "");
// The object on the standard output of a command that must succeed.
nlohmann::json LanescopeJson(const std::vector<std::string>& arguments, std::string_view input = "");

// Exactly one line on standard error that reads "error: CODE: ...", nothing on standard output, and this
// status.
void ExpectError(const Outcome& outcome, int status, const std::string& code, const std::string& text);

}  // namespace lanescope::cli
