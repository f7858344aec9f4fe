// SPDX-License-Identifier: Apache-2.0
// Work of a GPU for one micro-batch in a layer, in the embedding and in the output layer, in seconds.
#pragma once

#include "sims/plans/machine.h"
#include "sims/plans/model_shape.h"
#include "sims/plans/plan.h"

namespace lanescope::sims::plans {

struct Work {
  double products = 0;   // matrix products
  double attention = 0;  // of queries, keys and values
  double passes = 0;     // of memory-bound kernels, quantization included
  // Collectives of tensor, context and expert parallelism that nothing hides.
  double tensor = 0, context = 0, experts = 0;
  double launches = 0;  // how many kernels the host launches
  double exchanges() const { return tensor + context + experts; }
  double kernels() const { return products + attention + passes + exchanges(); }
  Work& operator+=(const Work& other);
  friend Work operator*(double times, Work work);
};

struct Passed {
  Work forward, backward;
  Work again;  // what is computed again before the gradients
};

class LayerTimes {
 public:
  // All must outlive it.
  LayerTimes(const ModelShape& model, const Plan& plan, const PlanMachine& machine, double sequence);
  Passed Layer(bool mixture) const;
  Passed Embedding() const;
  Passed Head() const;
  double tokens() const { return tokens_; }

 private:
  void AddMatrix(const Matrix& matrix, double tokens, Passed* passed) const;
  void AddAttention(Passed* passed) const;
  void AddPasses(double ffn_values, Passed* passed) const;
  double ExpertExchange() const;
  void AddExperts(Passed* passed) const;
  void AddTensorExchanges(double times, Passed* passed) const;
  double Quantized(double values, bool gradient) const;
  int ContextStride() const;
  double JoinSeconds(double bytes) const;

  const ModelShape& model_;
  const Plan& plan_;
  const PlanMachine& machine_;
  const double sequence_;
  const double tokens_;  // of a micro-batch on a GPU
};

// The format of products in layers.
Format FormatOf(Precision precision);

}  // namespace lanescope::sims::plans
