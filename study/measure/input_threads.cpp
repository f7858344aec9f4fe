// SPDX-License-Identifier: Apache-2.0
#include "study/measure/input_threads.h"

namespace lanescope::study {

InputThreads::InputThreads(const std::vector<QueueRunnerSpec>& runners, exec::Session* session)
    : session_(session) {
  try {
    for (const QueueRunnerSpec& runner : runners) {
      runners_.push_back(std::make_unique<exec::QueueRunner>(runner));
      runners_.back()->Start(session, &coordinator_);
    }
  } catch (...) {
    Stop();
    throw;
  }
}

void InputThreads::Stop() {
  if (stopped_) return;
  stopped_ = true;
  coordinator_.RequestStop();
  session_->Close();
  try {
    coordinator_.Join();
  } catch (const Error&) {  // error() says it
  }
}

std::optional<Error> InputThreads::error() const {
  for (const auto& runner : runners_) {
    if (const auto errors = runner->errors(); !errors.empty()) return errors.front();
  }
  return std::nullopt;
}

}  // namespace lanescope::study
