// SPDX-License-Identifier: Apache-2.0
#include "study/measure/job_capture.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/machine/tasks.h"
#include "exec/measure/gpu_machine.h"
#include "study/job/job_activities.h"

namespace lanescope::study {

std::string CaptureProblemOfJob(const RunCapture& capture, const Job& job, const Machine& machine) {
  exec::Transport& ranks = *job.transport();
  const bool has_gpu = exec::HasPhysicalGpus(SeenByTask(machine, ranks.rank()));
  const std::vector<std::string> problems = ranks.Share(has_gpu ? capture.problem() : "");
  const auto first = std::ranges::find_if(problems, [](const std::string& text) { return !text.empty(); });
  if (first == problems.end()) return "";
  return ranks.NameOf(static_cast<int>(first - problems.begin())) + ": " + *first;
}

std::string JobCapture::TakeOwn() {
  std::vector<traces::ActivityBatch> own = capture_.Take();
  const auto rank = static_cast<size_t>(job_.transport()->rank());
  for (traces::ActivityBatch& batch : own) TranslateForFirst(share_, job_.clocks()[rank].ahead_ns, &batch);
  return BytesOfBatches(static_cast<uint32_t>(getpid()), own);
}

void JobCapture::Deliver(const std::vector<std::string>& of_ranks) {
  if (sink_ == nullptr) return;
  for (traces::ActivityBatch& batch : BatchesOfRanks(of_ranks)) sink_->Consume(std::move(batch));
}

void JobCapture::Gather() { Deliver(job_.transport()->Share(TakeOwn())); }

void JobCapture::DeliverOwn() { Deliver({TakeOwn()}); }

}  // namespace lanescope::study
