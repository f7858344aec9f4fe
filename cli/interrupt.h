// Signals that end the program: SIGINT (Ctrl-C), SIGTERM and SIGHUP. The exit status is then 128 and the
// signal's number.
#pragma once

#include <atomic>

namespace lanescope::cli {

// Once, at the start. A hang-up that whoever started the program ignores (nohup) stays ignored. A second
// Ctrl-C ends the program at once. Writing beyond a limit (SIGXFSZ) and to a reader that went away (SIGPIPE)
// become errors of the write.
void CatchSignals();

// While one of these lives, a signal only sets Interrupted(), and whoever made it ends soon with Cancelled
// and keeps what there is: a trace, a child, a temporary folder. Without any, a signal ends the program at
// once.
class EndsInOrder {
 public:
  EndsInOrder();
  ~EndsInOrder();
  EndsInOrder(const EndsInOrder&) = delete;
  EndsInOrder& operator=(const EndsInOrder&) = delete;
};

// True after the first of the signals.
const std::atomic<bool>& Interrupted();
// Its number; 0: none came.
const std::atomic<int>& InterruptSignal();
// Throws Cancelled after a signal.
void ThrowIfInterrupted();
// Called on a signal, from the handler: must be async-signal-safe. Null: nothing.
void OnInterrupt(void (*handler)());

}  // namespace lanescope::cli
