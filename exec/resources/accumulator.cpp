#include "exec/resources/accumulator.h"

#include <algorithm>
#include <utility>

namespace lanescope::exec {
namespace {

template <typename T>
void AddTo(Tensor* sum, const Tensor& more) {
  T* to = sum->data<T>();
  const T* from = more.data<T>();
  for (int64_t i = 0; i < sum->NumElements(); ++i) to[i] += from[i];
}

template <typename T>
void DivideBy(Tensor* sum, int64_t count) {
  T* to = sum->data<T>();
  for (int64_t i = 0; i < sum->NumElements(); ++i) to[i] /= static_cast<T>(count);
}

}  // namespace

GradientAccumulator::GradientAccumulator(std::string name, AccumulatorSpec spec)
    : name_(std::move(name)), spec_(std::move(spec)) {
  if (spec_.dtype == DataType::kFloat || spec_.dtype == DataType::kDouble) return;
  Throw(Code::kUnimplemented, "accumulator '{}' is of {}; float and double are added up here", name_,
        DataTypeName(spec_.dtype));
}

GradientAccumulator::~GradientAccumulator() {
  for (const Attempt& attempt : waiting_) {
    const Error error(Code::kCancelled, "TakeGrad operation was cancelled");
    attempt.taken(&error, {});
  }
}

bool GradientAccumulator::Apply(int64_t local_step, const Tensor& gradient) {
  std::list<Outcome> complete;
  {
    const std::lock_guard lock(mutex_);
    if (local_step < global_step_) return false;
    if (gradient.dtype() != spec_.dtype) {
      Throw(Code::kInvalidArgument, "accumulator '{}' takes gradients of {}, not of {}", name_,
            DataTypeName(spec_.dtype), DataTypeName(gradient.dtype()));
    }
    const Shape expected = count_ > 0 ? sum_.shape() : spec_.shape;
    try {
      MergeShapes(expected, gradient.shape());
    } catch (const Error&) {
      Throw(Code::kInvalidArgument, "Shape mismatch: expected {}, got {}", expected.ToString(),
            gradient.shape().ToString());
    }
    if (count_ == 0) {
      sum_ = gradient;
    } else if (spec_.dtype == DataType::kFloat) {
      AddTo<float>(&sum_, gradient);
    } else {
      AddTo<double>(&sum_, gradient);
    }
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
    complete.push_back({std::move(waiting_.front().taken), Average()});
    waiting_.pop_front();
  }
  return complete;
}

Tensor GradientAccumulator::Average() {
  Tensor average = std::exchange(sum_, Tensor());
  if (spec_.reduction == GradientReduction::kMean) {
    if (spec_.dtype == DataType::kFloat) {
      DivideBy<float>(&average, count_);
    } else {
      DivideBy<double>(&average, count_);
    }
  }
  count_ = 0;
  ++global_step_;
  return average;
}

}  // namespace lanescope::exec
