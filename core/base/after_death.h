// SPDX-License-Identifier: Apache-2.0
// Work after this process was killed, where no destructor runs. Internal to core, profiler and study.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lanescope {

// A small process of its own session that waits for the end of this one: it holds the reading end of a pipe
// whose writing end only this process has. What ends this process without this object's destructor, as
// SIGKILL does, makes it act. Where no shell can be started, there is none. Belongs to one thread.
class AfterDeath {
 public:
  // `script` is for the shell, which has `arguments` as $1, $2 and so on.
  AfterDeath(const std::string& script, const std::vector<std::string>& arguments);
  // Nothing is done any more.
  ~AfterDeath();
  AfterDeath(const AfterDeath&) = delete;
  AfterDeath& operator=(const AfterDeath&) = delete;

 private:
  pid_t guard_ = -1;
  int alive_ = -1;  // open as long as this process is
};

// Removes a folder with all that is in it.
inline constexpr char kRemoveFolder[] = "rm -rf -- \"$1\"";

}  // namespace lanescope
