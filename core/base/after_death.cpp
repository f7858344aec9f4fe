// SPDX-License-Identifier: Apache-2.0
#include "core/base/after_death.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lanescope {
namespace {

// Nobody writes: the end of this process ends the read.
constexpr char kWait[] = "cd /; read -r line; ";

}  // namespace

AfterDeath::AfterDeath(const std::string& script, const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  std::vector<std::string> words{"sh", "-c", kWait + script, "lanescope-guard"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::string path = "PATH=/usr/local/bin:/usr/bin:/bin";
  char* const environment[] = {path.data(), nullptr};

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
  // A reader of this process's output waits for its end, not for the guard's.
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Signals that a terminal or a job sends to this process do not concern the guard.
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
  const int error = posix_spawn(&guard_, "/bin/sh", &files, &attributes, pointers.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(ends[0]);
  if (error != 0) {
    guard_ = -1;
    close(ends[1]);
  } else {
    alive_ = ends[1];
  }
}

AfterDeath::~AfterDeath() {
  if (guard_ < 0) return;
  // Before the pipe is closed, so that it does nothing.
  kill(guard_, SIGKILL);
  int ignored;
  waitpid(guard_, &ignored, 0);
  close(alive_);
}

}  // namespace lanescope
