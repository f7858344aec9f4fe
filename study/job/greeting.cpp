// SPDX-License-Identifier: Apache-2.0
#include "study/job/greeting.h"

#include <fmt/core.h>

#include <string_view>

#include "core/base/printable.h"

namespace lanescope::study {
namespace {

constexpr std::string_view kBegin = "lanescope protocol ", kEnd = " on ";

// The part before the host: "lanescope protocol 1 on ". Empty for what is no greeting.
std::string_view ProgramOf(std::string_view greeting) {
  const size_t end = greeting.find(kEnd);
  if (!greeting.starts_with(kBegin) || end == std::string_view::npos) return "";
  return greeting.substr(0, end + kEnd.size());
}

std::string NumberOf(std::string_view greeting) {
  const std::string_view program = ProgramOf(greeting);
  if (program.empty()) return "none";
  return Printable(program.substr(kBegin.size(), program.size() - kBegin.size() - kEnd.size()));
}

}  // namespace

std::string Greeting(const std::string& host, int64_t protocol) {
  return fmt::format("{}{}{}{}", kBegin, protocol, kEnd, host);
}

std::string ProblemOfGreetings(const std::vector<std::string>& greetings) {
  for (size_t rank = 1; rank < greetings.size(); ++rank) {
    if (!ProgramOf(greetings[rank]).empty() && ProgramOf(greetings[rank]) == ProgramOf(greetings[0]))
      continue;
    return fmt::format(
        "the program of rank {} has protocol {}, and that of rank 0 has {}: start the same version", rank,
        NumberOf(greetings[rank]), NumberOf(greetings[0]));
  }
  return "";
}

std::vector<std::string> HostsOfGreetings(const std::vector<std::string>& greetings) {
  std::vector<std::string> hosts;
  for (const std::string& greeting : greetings) hosts.push_back(greeting.substr(ProgramOf(greeting).size()));
  return hosts;
}

}  // namespace lanescope::study
