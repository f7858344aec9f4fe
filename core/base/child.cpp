// SPDX-License-Identifier: Apache-2.0
#include "core/base/child.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/base/error.h"

namespace lanescope {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Child::Child(const ChildStart& start) : own_group_(start.own_group) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int i = 0; i < 3; ++i) {
    const int stream = start.streams[static_cast<size_t>(i)];
    if (stream >= 0) posix_spawn_file_actions_adddup2(&files, stream, i);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int ignored_here : {SIGPIPE, SIGXFSZ}) sigaddset(&defaults, ignored_here);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int group = own_group_ ? POSIX_SPAWN_SETPGROUP : 0;
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF | group));
  const std::vector<char*> arguments = Pointers(start.words), environment = Pointers(start.environment);
  const int error = posix_spawnp(&process_, arguments[0], &files, &attributes, arguments.data(),
                                 start.environment.empty() ? environ : environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    process_ = -1;
    Throw(Code::kNotFound, "cannot run '{}': {}", start.words[0], std::strerror(error));
  }
  guard_ = std::make_unique<AfterDeath>("kill -s KILL -- \"$1\"",
                                        std::vector{std::to_string(own_group_ ? -process_ : process_)});
}

Child::~Child() {
  if (process_ < 0) return;
  Signal(SIGKILL);
  int ignored;
  waitpid(process_, &ignored, 0);
}

bool Child::HasEnded(int* how) {
  if (waitpid(process_, how, WNOHANG) != process_) return false;
  if (own_group_) Signal(SIGKILL);  // children that it left behind
  guard_.reset();
  process_ = -1;
  return true;
}

void Child::Signal(int number) { kill(own_group_ ? -process_ : process_, number); }

int Child::StatusOf(int how) { return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how); }

}  // namespace lanescope
