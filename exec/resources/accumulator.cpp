// SPDX-License-Identifier: Apache-2.0
#include "exec/resources/accumulator.h"

#include <algorithm>
#include <utility>

namespace lanescope::exec {

GradientAccumulator::GradientAccumulator(std::string name, AccumulatorSpec spec)
    : name_(std::move(name)), spec_(std::move(spec)), sum_(MakeGradientSum(name_, spec_)) {}

GradientAccumulator::~GradientAccumulator() {
  for (const Attempt& attempt : waiting_) {
    const Error error(Code::kCancelled, "TakeGrad operation was cancelled");
    attempt.taken(&error, {});
  }
}

bool GradientAccumulator::Apply(int64_t local_step, const GradientParts& gradient) {
  std::list<Outcome> complete;
  {
    const std::lock_guard lock(mutex_);
    if (local_step < global_step_) return false;
    sum_->Add(gradient);
    ++count_;
    complete = TakeWhatIsComplete();
  }
  for (Outcome& outcome : complete) outcome.taken(nullptr, std::move(outcome.average));
  return true;
}

GradientAccumulator::AttemptNumber GradientAccumulator::Take(int64_t required, Taken taken) {
  if (required <= 0)
    Throw(Code::kInvalidArgument, "Argument num_required must be positive, but was {}", required);
  std::list<Outcome> complete;
  AttemptNumber number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++last_attempt_;
    waiting_.push_back({number, required, std::move(taken)});
    complete = TakeWhatIsComplete();
  }
  for (Outcome& outcome : complete) outcome.taken(nullptr, std::move(outcome.average));
  return number;
}

bool GradientAccumulator::Cancel(AttemptNumber attempt) {
  std::list<Attempt> cancelled;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(waiting_, attempt, &Attempt::number);
    if (found == waiting_.end()) return false;
    cancelled.splice(cancelled.begin(), waiting_, found);
  }
  const Error error(Code::kCancelled, "TakeGrad operation was cancelled");
  cancelled.front().taken(&error, {});
  return true;
}

void GradientAccumulator::SetGlobalStep(int64_t step) {
  const std::lock_guard lock(mutex_);
  global_step_ = step;
}

GradientAccumulator::State GradientAccumulator::state() const {
  const std::lock_guard lock(mutex_);
  return {count_, global_step_, static_cast<int64_t>(waiting_.size())};
}

std::list<GradientAccumulator::Outcome> GradientAccumulator::TakeWhatIsComplete() {
  std::list<Outcome> complete;
  while (!waiting_.empty() && count_ >= waiting_.front().required) {
    complete.push_back({std::move(waiting_.front().taken), sum_->Take()});
    waiting_.pop_front();
    count_ = 0;
    ++global_step_;
  }
  return complete;
}

}  // namespace lanescope::exec
