// SPDX-License-Identifier: Apache-2.0
// The processors that this process may use.
#pragma once

#include <string>
#include <vector>

namespace lanescope {

// By the system's numbers: those of its affinity. Empty where the system does not say.
std::vector<int> CoresOfThisProcess();
// How many: those of its affinity, and no more than the time that its cgroups let it have in theirs, rounded
// up. At least one.
int NumProcessors();
// Processors that cgroups give a process, rounded up: the least limit of it and those above. 0: none.
// `membership`: a file as /proc/self/cgroup; `mount`: where cgroups are mounted, of version 2, or of version
// 1 with its controllers below.
int CgroupProcessors(const std::string& membership, const std::string& mount);

}  // namespace lanescope
