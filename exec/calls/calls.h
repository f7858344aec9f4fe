// SPDX-License-Identifier: Apache-2.0
// Calls to a process that serves its devices, from those that run graphs on them, and its answers.
// Internal to exec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/frame.h"

namespace lanescope::exec {

// A letter to a server is the call's kind and number, and what its arguments are; its answer the number, a
// code (kNoError: none) with its message, and what follows.
enum class Call : int64_t {
  kOpen,     // protocol, machine, graph, placement, seed -> session
  kPrepare,  // session, step, its request -> commands and messages of the whole schedule
  kRun,      // session, step, first tag, schedule and step in the trace -> when it began and ended
  kStop,     // number of a call that is to end soon; has no answer
  kEvents,   // session -> what its recorded steps did
  kReach,    // a stage: the client has come so far
  kAwait,    // a client and a stage: waits until it has come so far
  kClock,    // -> its clock
  kReset,    // containers
  kClose,    // session
  kLeave,    // the client calls no more; has no answer
};
inline constexpr int64_t kCalls = static_cast<int64_t>(Call::kLeave) + 1;

// How far a client has come.
enum class Stage : int64_t { kBegun, kReady, kDone };

inline constexpr int64_t kNoError = -1;
// The number in an answer that nobody asked for: the server ends, for the reason it gives.
inline constexpr int64_t kServerEnds = -1;

inline FrameWriter LetterOf(Call call, int64_t number) {
  FrameWriter writer;
  writer.Number(static_cast<int64_t>(call)).Number(number);
  return writer;
}

inline std::string AnswerOf(int64_t number, const std::string& results) {
  return FrameWriter().Number(number).Number(kNoError).Text("").Take() + results;
}

inline std::string AnswerOf(int64_t number, const Error& error) {
  return FrameWriter().Number(number).Number(static_cast<int64_t>(error.code())).Text(error.message()).Take();
}

}  // namespace lanescope::exec
