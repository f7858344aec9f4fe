// SPDX-License-Identifier: Apache-2.0
#include "study/job/computers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>

#include "core/base/processors.h"
#include "study/job/this_machine.h"

namespace lanescope::study {

Computers OneComputer() { return {{}, {NumProcessors()}}; }

std::string ThisComputer() { return fmt::format("{} {}", HostName(), fmt::join(CoresOfThisProcess(), " ")); }

// mpirun may have given each process cores of its own.
Computers ComputersOf(const std::vector<std::string>& said) {
  Computers computers;
  std::map<std::string, int> numbers;  // by host
  std::vector<std::set<int>> cores;    // by computer
  for (const std::string& text : said) {
    std::istringstream words(text);
    std::string host;
    std::getline(words, host, ' ');
    const auto [found, added] = numbers.try_emplace(host, static_cast<int>(cores.size()));
    if (added) cores.emplace_back();
    computers.of_task.push_back(found->second);
    for (int core = 0; words >> core;) cores[static_cast<size_t>(found->second)].insert(core);
  }
  for (const std::set<int>& of_one : cores)
    computers.num_cores.push_back(std::max(1, static_cast<int>(of_one.size())));
  return computers;
}

}  // namespace lanescope::study
