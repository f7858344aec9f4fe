// SPDX-License-Identifier: Apache-2.0
// A program that runs as a child of this one. Internal to core, profiler and study.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/base/after_death.h"

namespace lanescope {

struct ChildStart {
  std::vector<std::string> words;        // the first is searched in PATH, without a shell
  std::vector<std::string> environment;  // "NAME=value"; empty: that of this process
  // Its standard input, output and error; -1: those of this process.
  std::array<int, 3> streams{-1, -1, -1};
  bool own_group = false;  // what the program starts is killed with it
};

// Owns the running program: what still runs when it goes is killed, also where this process is killed itself.
// Signals that this process ignores are not
// ignored there. Belongs to one thread.
class Child {
 public:
  // Throws NotFound.
  explicit Child(const ChildStart& start);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // True once the program has ended, with what waitpid says.
  bool HasEnded(int* how);
  void Signal(int number);
  // Exit status, or 128 and the signal that ended it.
  static int StatusOf(int how);

 private:
  pid_t process_ = -1;
  const bool own_group_;
  std::unique_ptr<AfterDeath> guard_;  // null: it has ended
};

}  // namespace lanescope
