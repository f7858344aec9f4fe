// SPDX-License-Identifier: Apache-2.0
#include "core/base/processors.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <thread>

namespace lanescope {
namespace {

// Rounded up; 0 where there is no limit, or nothing that makes sense.
int Processors(int64_t quota, int64_t period) {
  constexpr int64_t kMost = 1 << 20;
  if (quota <= 0 || period <= 0 || quota / period >= kMost) return 0;
  return static_cast<int>((quota - 1) / period + 1);
}

template <typename T>
T FirstOf(const std::string& path, T otherwise) {
  std::ifstream file(path);
  T value;
  return file >> value ? value : otherwise;
}

// "200000 100000", or "max 100000".
int LimitOfVersion2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  int64_t quota = 0, period = 0;
  return file >> quota >> period ? Processors(quota, period) : 0;
}

int LimitOfVersion1(const std::string& folder) {
  return Processors(FirstOf<int64_t>(folder + "/cpu.cfs_quota_us", -1),
                    FirstOf<int64_t>(folder + "/cpu.cfs_period_us", 0));
}

// The least limit of a group and all above it.
int LeastLimit(const std::string& root, std::string group, int (*limit_of)(const std::string&)) {
  int least = 0;
  while (true) {
    const int limit = limit_of(root + group);
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
    if (group.empty()) return least;
    group.resize(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

bool HasController(const std::string& controllers, const std::string& wanted) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == wanted) return true;
  }
  return false;
}

}  // namespace

std::vector<int> CoresOfThisProcess() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

// A line of the membership is "number:controllers:/group"; version 2 has no controllers.
int CgroupProcessors(const std::string& membership, const std::string& mount) {
  int least = 0;
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    int limit = 0;
    if (controllers.empty()) {
      limit = LeastLimit(mount, group, LimitOfVersion2);
    } else if (HasController(controllers, "cpu")) {
      limit = LeastLimit(mount + "/cpu", group, LimitOfVersion1);
    }
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
  }
  return least;
}

int NumProcessors() {
  const auto cores = static_cast<int>(CoresOfThisProcess().size());
  const int usable = std::max(1, cores > 0 ? cores : static_cast<int>(std::thread::hardware_concurrency()));
  const int limit = CgroupProcessors("/proc/self/cgroup", "/sys/fs/cgroup");
  return limit > 0 ? std::min(usable, limit) : usable;
}

}  // namespace lanescope
