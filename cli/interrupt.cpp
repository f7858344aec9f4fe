// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/job/mpi.h"

namespace lanescope::cli {
namespace {

study::Cancellation interruption;

bool of_a_job = false;

// Async-signal-safe. The rest of a job is ended when one process has failed, which has said why.
[[noreturn]] void EndAtOnce(int number) {
  if (of_a_job && number == SIGTERM) _exit(128 + number);
  static constexpr char kMessage[] = "error: Cancelled: interrupted\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(128 + number);
}

void HandleSignal(int number) {
  interruption.Cancel(number);
  if (!interruption.watched()) EndAtOnce(number);
}

}  // namespace

void CatchSignals() {
  of_a_job = !study::RankName().empty();
  struct sigaction action = {};
  action.sa_handler = HandleSignal;
  // Only Ctrl-C: a terminal that closes sends its signal twice, and so does timeout(1).
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  action.sa_flags = 0;
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction inherited = {};
  sigaction(SIGHUP, nullptr, &inherited);
  if (inherited.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);  // there may be a trace to finish
  signal(SIGXFSZ, SIG_IGN);
}

study::Cancellation& Interruption() { return interruption; }

}  // namespace lanescope::cli
