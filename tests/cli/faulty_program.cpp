// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/faulty_program.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>
#include <sstream>

#include "tests/support/paths.h"

namespace lanescope::cli {

std::string Fault::ToString() const {
  constexpr const char* kActions[] = {"count", "once", "from", "kill"};
  return fmt::format("{}:{}:{}", kind, kActions[static_cast<size_t>(action)], which);
}

Outcome LanescopeWithFault(const std::vector<std::string>& arguments, const Fault& fault,
                           const std::string& report) {
  std::vector<std::string> environment{"LD_PRELOAD=" + lanescope::test::FaultShimPath(),
                                       "LANESCOPE_FAULT=" + fault.ToString()};
  if (!report.empty()) environment.push_back("LANESCOPE_FAULT_REPORT=" + report);
  return Process(arguments, "", environment).Wait();
}

namespace {

// Addresses of the functions of a program that no allocation may fail in, and where they end. The JSON
// library allocates in destructors, the command line's in a function that promises not to throw: that ends
// any program, and cannot be helped here.
std::map<uint64_t, bool> FindHopelessFunctions() {
  std::map<uint64_t, bool> is_hopeless;
  FILE* symbols = popen(("nm --defined-only " + lanescope::test::ProgramPath()).c_str(), "r");
  char line[1 << 16];
  while (symbols != nullptr && fgets(line, sizeof line, symbols) != nullptr) {
    bool& hopeless = is_hopeless[std::strtoull(line, nullptr, 16)];
    for (const char* name : {"json_value7destroy", "CLI6Option10check_name"})
      hopeless |= std::strstr(line, name) != nullptr;
  }
  if (symbols != nullptr) pclose(symbols);
  EXPECT_FALSE(is_hopeless.empty());
  return is_hopeless;
}

// "STACK ADDRESS ..."
bool IsHopeless(const std::string& line) {
  static const std::map<uint64_t, bool> functions = FindHopelessFunctions();
  std::istringstream words(line);
  std::string stack;
  words >> stack >> std::hex;
  for (uint64_t address; words >> address;) {
    const auto after = functions.upper_bound(address);
    if (after != functions.begin() && std::prev(after)->second) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> CountOperations(const std::vector<std::string>& arguments, const std::string& kind) {
  const Folder folder;
  const std::string report = folder.File("report");
  const Outcome outcome = LanescopeWithFault(arguments, {kind, FaultAction::kCount, "0"}, report);
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  std::istringstream lines(ReadText(report));
  std::vector<std::string> operations;
  for (std::string line; std::getline(lines, line);) {
    if (kind != "alloc" || !IsHopeless(line)) operations.push_back(line.substr(0, line.find(' ')));
  }
  EXPECT_FALSE(operations.empty());
  if (kind == "alloc" || operations.empty()) return operations;
  const size_t count = std::stoul(operations[0]);
  operations.clear();
  for (size_t i = 1; i <= count; ++i) operations.push_back(std::to_string(i));
  return operations;
}

std::vector<std::string> Sample(const std::vector<std::string>& operations, size_t at_most) {
  const char* wish = std::getenv("LANESCOPE_FAULTS");
  if (operations.size() <= at_most || (wish != nullptr && std::string(wish) == "all")) return operations;
  std::vector<std::string> sample;
  for (size_t i = 0; i < at_most; ++i) sample.push_back(operations[i * operations.size() / at_most]);
  return sample;
}

std::string Complaint(const Outcome& outcome) {
  if (outcome.left_children) return "it left children behind";
  if (outcome.status == 0) return "";
  if (outcome.status != 1) return fmt::format("its status is {}", outcome.status);
  static const std::regex one_line(
      "error: "
      "(NotFound|AlreadyExists|InvalidArgument|ResourceExhausted|FailedPrecondition|Aborted|DataLoss): .+");
  int errors = 0;
  std::istringstream lines(outcome.errors);
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, one_line))
      ++errors;
    else if (line.starts_with("error:") || line.starts_with("terminate"))
      return "it says " + line;
  }
  return errors == 1 ? "" : fmt::format("it has {} lines of error", errors);
}

}  // namespace lanescope::cli
