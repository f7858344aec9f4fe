// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/nn.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {
namespace {

int64_t RowGrain(int64_t classes) {
  return std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, classes));
}

template <typename Index>
void CheckLabels(const TensorRef& labels, int64_t classes) {
  for (int64_t i = 0; i < labels.NumElements(); ++i) {
    const int64_t label = labels.as<Index>()[i];
    if (label >= 0 && label < classes) continue;
    const Index* values = labels.as<Index>();
    Throw(Code::kInvalidArgument,
          "Received a label value of {} which is outside the valid range of [0, {}).  Label values: {}",
          label, classes, fmt::join(values, values + labels.NumElements(), " "));
  }
}

}  // namespace

void HostLayers::Softmax(KernelContext& context, const SoftmaxPlan& plan) {
  const TensorRef& x = context.input(0);
  if (x.NumElements() == 0) return;
  const int64_t classes = plan.classes;
  DispatchReal("Softmax", x.dtype, [&]<typename T>(T) {
    const RowLoops<T>& loops = HostLoops().rows<T>();
    const auto loop = plan.log ? loops.log_softmax : loops.softmax;
    context.team().ParallelFor(plan.rows, RowGrain(classes), [&](int64_t begin, int64_t end) {
      loop(end - begin, classes, x.as<T>() + begin * classes, context.output().as<T>() + begin * classes);
    });
  });
}

void HostLayers::CrossEntropy(KernelContext& context, const CrossEntropyPlan& plan) {
  const TensorRef& features = context.input(0);
  const TensorRef& labels = context.input(1);
  const int64_t classes = plan.classes;
  const auto at = [](const Repeated& steps, int64_t row, int64_t c) {
    return row * steps.row_step + c * steps.column_step;
  };
  if (classes == 0) {
    const TensorRef& loss = context.output(0);
    return ZeroElements(loss.dtype, loss.data, plan.rows, context.team());
  }
  DispatchReal("SoftmaxCrossEntropyWithLogits", features.dtype, [&]<typename T>(T) {
    const RowLoops<T>& loops = HostLoops().rows<T>();
    context.team().ParallelFor(plan.rows, RowGrain(classes), [&](int64_t begin, int64_t end) {
      thread_local std::vector<T> row_x;
      thread_local std::vector<T> row_log;
      row_x.resize(static_cast<size_t>(classes));
      row_log.resize(static_cast<size_t>(classes));
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t c = 0; c < classes; ++c) {
          row_x[static_cast<size_t>(c)] = features.as<T>()[at(plan.features, row, c)];
        }
        T* gradient = context.output(1).as<T>() + row * classes;
        loops.log_softmax(1, classes, row_x.data(), row_log.data());
        loops.softmax(1, classes, row_x.data(), gradient);
        T loss = T(0);
        for (int64_t c = 0; c < classes; ++c) {
          const T label = labels.as<T>()[at(plan.labels, row, c)];
          loss -= label == T(0) ? T(0) : label * row_log[static_cast<size_t>(c)];
          gradient[c] -= label;
        }
        context.output(0).as<T>()[row] = loss;
      }
    });
  });
}

void HostLayers::SparseCrossEntropy(KernelContext& context, const CrossEntropyPlan& plan) {
  const TensorRef& features = context.input(0);
  const TensorRef& labels = context.input(1);
  const int64_t classes = plan.classes;
  DispatchReal("SparseSoftmaxCrossEntropyWithLogits", features.dtype, [&]<typename T>(T) {
    DispatchIndex("SparseSoftmaxCrossEntropyWithLogits", labels.dtype, [&]<typename Index>(Index) {
      CheckLabels<Index>(labels, classes);
      const RowLoops<T>& loops = HostLoops().rows<T>();
      context.team().ParallelFor(plan.rows, RowGrain(classes), [&](int64_t begin, int64_t end) {
        thread_local std::vector<T> row_log;
        row_log.resize(static_cast<size_t>(classes));
        for (int64_t row = begin; row < end; ++row) {
          const T* x = features.as<T>() + row * classes;
          T* gradient = context.output(1).as<T>() + row * classes;
          const auto label = static_cast<size_t>(labels.as<Index>()[row]);
          loops.log_softmax(1, classes, x, row_log.data());
          loops.softmax(1, classes, x, gradient);
          gradient[label] -= T(1);
          context.output(0).as<T>()[row] = -row_log[label];
        }
      });
    });
  });
}

}  // namespace lanescope::exec
