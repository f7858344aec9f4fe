// SPDX-License-Identifier: Apache-2.0
// Signals that end the program: SIGINT (Ctrl-C), SIGTERM and SIGHUP. The exit status is then 128 and the
// signal's number.
#pragma once

#include "study/base/cancellation.h"

namespace lanescope::cli {

// Once, at the start. A hang-up that whoever started the program ignores (nohup) stays ignored. A second
// Ctrl-C ends the program at once. Writing beyond a limit (SIGXFSZ) and to a reader that went away (SIGPIPE)
// become errors of the write.
void CatchSignals();

// The first of the signals cancels this. While it is watched, a signal does no more than that, and whoever
// watches ends soon with Cancelled and keeps what there is: a trace, a child, a temporary folder. Without any
// watch, a signal ends the program at once.
study::Cancellation& Interruption();

}  // namespace lanescope::cli
