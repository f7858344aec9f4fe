#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/interrupt_reason.h"

namespace lanescope::cli {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<int> first_signal{0};
std::atomic<int> orderly_ends{0};  // how many EndsInOrder live
std::atomic<void (*)()> interrupt_handler{nullptr};

// Async-signal-safe.
[[noreturn]] void EndAtOnce(int number) {
  static constexpr char kMessage[] = "error: Cancelled: interrupted\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(128 + number);
}

void HandleSignal(int number) {
  int none = 0;
  first_signal.compare_exchange_strong(none, number);
  interrupted.store(true);
  if (orderly_ends.load() == 0) EndAtOnce(number);
  if (void (*handler)() = interrupt_handler.load()) handler();
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

EndsInOrder::EndsInOrder() { orderly_ends.fetch_add(1); }
EndsInOrder::~EndsInOrder() { orderly_ends.fetch_sub(1); }

const std::atomic<bool>& Interrupted() { return interrupted; }
const std::atomic<int>& InterruptSignal() { return first_signal; }

void ThrowIfInterrupted() {
  if (interrupted.load()) Throw(Code::kCancelled, "{}", InterruptReason(first_signal.load()));
}

void OnInterrupt(void (*handler)()) { interrupt_handler.store(handler); }

}  // namespace lanescope::cli
