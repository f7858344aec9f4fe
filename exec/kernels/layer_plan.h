// SPDX-License-Identifier: Apache-2.0
// Layers of networks, for every kind of device: bias, pooling, local response normalisation, softmax and
// cross entropy.
#pragma once

#include "core/graph/ops/layers.h"
#include "core/graph/ops/pooling.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/window.h"

namespace lanescope::exec {

// The dimension of the channels for BiasAdd and its gradient.
struct BiasPlan {
  LoopType type;
  int channel;
  Shape bias;  // as it broadcasts over the values; of BiasAdd alone
};
class BiasOp {
 public:
  explicit BiasOp(const Node& node) : rule_(node), type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {}

 protected:
  ops::BiasRule rule_;
  LoopType type_;
};
class BiasAddOp : public BiasOp {
 public:
  using BiasOp::BiasOp;
  BiasPlan Plan(KernelContext& context) const;
};
class BiasAddGradOp : public BiasOp {
 public:
  using BiasOp::BiasOp;
  BiasPlan Plan(KernelContext& context) const;
};

class PoolOp {
 public:
  explicit PoolOp(const Node& node) : rule_(node) { RequireChannelsLast(node); }
  ImageWindows Plan(KernelContext& context) const;  // input: images

 protected:
  ImageWindows WindowsOver(const Shape& images) const;

  ops::PoolRule rule_;
};
// Inputs: x, y, dy.
class MaxPoolGradOp : public PoolOp {
 public:
  using PoolOp::PoolOp;
  ImageWindows Plan(KernelContext& context) const;
};
// Inputs: x, y, and the gradient of what is shaped like x.
class MaxPoolGradGradOp : public PoolOp {
 public:
  using PoolOp::PoolOp;
  ImageWindows Plan(KernelContext& context) const;
};
// Inputs: the shape of x (in host memory), dy.
class AvgPoolGradOp : public PoolOp {
 public:
  using PoolOp::PoolOp;
  ImageWindows Plan(KernelContext& context) const;
};

// Local response normalisation over rows of `depth` channels. Inputs: LRN (x); LRNGrad (dy, x, y).
struct LrnPlan {
  bool gradient;
  int64_t radius;  // at most depth: beyond the channels there is nothing to add
  float bias, alpha, beta;
  int64_t pixels, depth;
};
class LrnOp {
 public:
  explicit LrnOp(const Node& node);
  LrnPlan Plan(KernelContext& context) const;

 private:
  LrnPlan attrs_;
};

struct SoftmaxPlan {
  bool log;
  int64_t rows, classes;
};
class SoftmaxOp {
 public:
  explicit SoftmaxOp(const Node& node) : log_(node.op == "LogSoftmax") {}
  SoftmaxPlan Plan(KernelContext& context) const;

 private:
  bool log_;
};

// Rows or columns of an operand may be repeated: an element is at row * row_step + column * column_step.
struct Repeated {
  int64_t row_step, column_step;
};
// Features and labels [rows, classes]; outputs: a loss for each row, and its gradient by the features.
struct CrossEntropyPlan {
  int64_t rows, classes;
  Repeated features, labels;
};
CrossEntropyPlan PlanCrossEntropy(KernelContext& context);
// A plan for labels that are the number of one class for each row.
CrossEntropyPlan PlanSparseCrossEntropy(KernelContext& context);

// Bodies: static functions of these names.
template <typename Device>
void RegisterLayerOps(KernelRegistry& registry) {
  for (const char* op : {"BiasAdd", "BiasAddV1"}) RegisterOp<BiasAddOp, Device::AddBias>(registry, op);
  RegisterOp<BiasAddGradOp, Device::SumBias>(registry, "BiasAddGrad");
  RegisterOp<PoolOp, Device::MaxPool>(registry, "MaxPool");
  RegisterOp<PoolOp, Device::AvgPool>(registry, "AvgPool");
  RegisterOp<MaxPoolGradOp, Device::MaxPoolGrad>(registry, "MaxPoolGrad");
  RegisterOp<MaxPoolGradGradOp, Device::MaxPoolGradGrad>(registry, "MaxPoolGradGrad");
  RegisterOp<AvgPoolGradOp, Device::AvgPoolGrad>(registry, "AvgPoolGrad");
  for (const char* op : {"LRN", "LRNGrad"}) RegisterOp<LrnOp, Device::Lrn>(registry, op);
  for (const char* op : {"Softmax", "LogSoftmax"}) RegisterOp<SoftmaxOp, Device::Softmax>(registry, op);
  RegisterOp<PlanCrossEntropy, Device::CrossEntropy>(registry, "SoftmaxCrossEntropyWithLogits");
  RegisterOp<PlanSparseCrossEntropy, Device::SparseCrossEntropy>(registry,
                                                                 "SparseSoftmaxCrossEntropyWithLogits");
}

}  // namespace lanescope::exec
