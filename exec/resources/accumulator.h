// SPDX-License-Identifier: Apache-2.0
// Sums of gradients of several workers that end once there are enough of them: synchronous replicas.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/error.h"
#include "exec/resources/attempts.h"
#include "exec/resources/gradient_sum.h"

namespace lanescope::exec {

// Gradients of one variable, as TensorFlow's ConditionalAccumulator and
// SparseConditionalAccumulator. Each comes with the step that its worker
// computed it for; what is older than the accumulator's step is dropped. Thread-safe; callbacks run once, on
// the thread whose call let the attempt finish, without a lock, and do not throw.
class GradientAccumulator final : public AttemptResource {
 public:
  static constexpr char kTypeName[] = "Accumulator";
  using Taken = std::function<void(const Error* error, GradientParts average)>;

  // Throws Unimplemented for a type that cannot be added up here.
  GradientAccumulator(std::string name, AccumulatorSpec spec);
  ~GradientAccumulator() override;
  GradientAccumulator(const GradientAccumulator&) = delete;
  GradientAccumulator& operator=(const GradientAccumulator&) = delete;

  // False: it is too old, and dropped. Throws InvalidArgument for another type or shape than declared, or
  // than that of the gradients that are there.
  bool Apply(int64_t local_step, const GradientParts& gradient);
  // Waits until there are `required` gradients; then all that there are, as their mean or sum, are taken, and
  // the step goes on by one. Attempts finish in order. Throws InvalidArgument for a number that is not
  // positive.
  AttemptNumber Take(int64_t required, Taken taken);
  bool Cancel(AttemptNumber attempt) override;
  void SetGlobalStep(int64_t step);

  const std::string& name() const { return name_; }
  const AccumulatorSpec& spec() const { return spec_; }
  struct State {
    int64_t count = 0;  // of gradients
    int64_t global_step = 0;
    int64_t waiting = 0;
  };
  State state() const;

 private:
  struct Attempt {
    AttemptNumber number = 0;
    int64_t required = 0;
    Taken taken;
  };
  struct Outcome {
    Taken taken;
    GradientParts average;
  };

  std::list<Outcome> TakeWhatIsComplete();

  const std::string name_;
  const AccumulatorSpec spec_;

  mutable std::mutex mutex_;
  const std::unique_ptr<GradientSum> sum_;
  int64_t count_ = 0;
  int64_t global_step_ = 0;
  AttemptNumber last_attempt_ = 0;
  std::list<Attempt> waiting_;
};

}  // namespace lanescope::exec
