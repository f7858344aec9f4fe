#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

namespace lanescope::cli {
namespace {

study::Cancellation interruption;

// Async-signal-safe.
[[noreturn]] void EndAtOnce(int number) {
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
