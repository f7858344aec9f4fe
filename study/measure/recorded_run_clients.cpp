// Of runs whose process other tasks serve: first values, and what processes that run graphs beside it wait
// for.
#include <atomic>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "exec/calls/remote_tasks.h"
#include "exec/messages/process_turns.h"
#include "study/job/serving.h"
#include "study/measure/recorded_run.h"

namespace lanescope::study {

bool RecordedRun::AwaitsValues() const {
  return IsServed() && options_.initializer >= 0 &&
         options_.initializer != options_.servers->transport().rank();
}

void RecordedRun::Initialize() {
  const auto run = [this](const std::vector<std::string>& targets) {
    if (targets.empty()) return;
    const Cancellation::Running running(options_.cancellation, session_.get());
    session_->Run(exec::RunRequest{{}, {}, targets});
  };
  if (!IsServed()) return run(spec_.init);
  const int own = options_.servers->transport().rank();
  if (options_.initializer == own) {
    run(spec_.init);
    if (options_.alone_steps == 0) options_.servers->Reach(exec::Stage::kReady);
    return;
  }
  run(InitOfTask(placed_, machine_, own));
}

void RecordedRun::AwaitClient(int client, exec::Stage stage) {
  options_.servers->Await(client, stage, [this] {
    if (options_.cancellation != nullptr) options_.cancellation->Check();
  });
}

// Steps that nobody else's come between: the others begin after them.
void RecordedRun::WarmUpAlone() {
  if (!IsServed() || options_.alone_steps == 0 ||
      options_.initializer != options_.servers->transport().rank())
    return;
  WarmUp(options_.alone_steps);
  options_.servers->Reach(exec::Stage::kReady);
}

// Other processes' steps may wait for what this one's threads put into queues.
void RecordedRun::AwaitOtherClients() {
  if (!IsServed()) return;
  options_.servers->Reach(exec::Stage::kDone);
  if (!options_.together) {
    if (input_ != nullptr) AwaitAllDone();
    return;
  }
  session_->SetRecording(false);
  std::atomic<bool> all_done{false};
  Thread goes_on("steps for other processes", [&] {
    try {
      for (; !all_done.load(); ++next_step_) RunStep();
    } catch (const Error&) {  // it is ended, or nobody can go on
    }
  });
  const auto end = [&] {
    all_done.store(true);
    session_->Close();  // no other step follows
    goes_on.Wait();
  };
  try {
    AwaitAllDone();
  } catch (...) {
    end();
    throw;
  }
  end();
  goes_on.Join();
}

void RecordedRun::AwaitAllDone() {
  for (const int client : options_.servers->OtherClients()) AwaitClient(client, exec::Stage::kDone);
}

}  // namespace lanescope::study
