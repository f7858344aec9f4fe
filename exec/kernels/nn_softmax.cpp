#include <algorithm>
#include <string>
#include <vector>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/nn.h"
#include "exec/kernels/tensor_access.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {
namespace {

int64_t RowGrain(int64_t classes) {
  return std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, classes));
}

class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(const Node& node) : log_(node.op == "LogSoftmax") {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    if (x.shape.rank() < 1) Throw(Code::kInvalidArgument, "logits must have >= 1 dimension, got a scalar");
    context.SetOutputShape(0, x.shape);
    if (x.NumElements() == 0) return;
    const int64_t classes = x.shape[x.shape.rank() - 1];
    DispatchReal("Softmax", x.dtype, [&]<typename T>(T) {
      const RowLoops<T>& loops = HostLoops().rows<T>();
      const auto loop = log_ ? loops.log_softmax : loops.softmax;
      context.team().ParallelFor(x.NumElements() / classes, RowGrain(classes),
                                 [&](int64_t begin, int64_t end) {
                                   loop(end - begin, classes, x.as<T>() + begin * classes,
                                        context.output().as<T>() + begin * classes);
                                 });
    });
  }

 private:
  bool log_;
};

// Outputs: loss = -sum(labels * log softmax(features)) a row, and its gradient by the features. Rows or
// columns of either input broadcast.
void CrossEntropy(KernelContext& context) {
  const TensorRef& features = context.input(0);
  const TensorRef& labels = context.input(1);
  const Shape shape = BroadcastShapes(features.shape, labels.shape);
  if (shape.rank() != 2) {
    Throw(Code::kInvalidArgument,
          "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional");
  }
  const int64_t classes = shape[1];
  context.SetOutputShape(0, Shape{shape[0]});
  context.SetOutputShape(1, shape);
  if (shape.NumElements() == 0) {
    DispatchReal("SoftmaxCrossEntropyWithLogits", features.dtype,
                 [&]<typename T>(T) { std::fill_n(context.output(0).as<T>(), shape[0], T(0)); });
    return;
  }
  // Element (row, c) of an operand that may lack rows or columns.
  const auto at = [](const Shape& own, int64_t row, int64_t c) {
    const int64_t columns = own.rank() >= 1 ? own[own.rank() - 1] : 1;
    const int64_t rows = own.rank() >= 2 ? own[0] : 1;
    return (rows == 1 ? 0 : row * columns) + (columns == 1 ? 0 : c);
  };
  DispatchReal("SoftmaxCrossEntropyWithLogits", features.dtype, [&]<typename T>(T) {
    const RowLoops<T>& loops = HostLoops().rows<T>();
    context.team().ParallelFor(shape[0], RowGrain(classes), [&](int64_t begin, int64_t end) {
      thread_local std::vector<T> row_x;
      thread_local std::vector<T> row_log;
      row_x.resize(static_cast<size_t>(classes));
      row_log.resize(static_cast<size_t>(classes));
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t c = 0; c < classes; ++c) {
          row_x[static_cast<size_t>(c)] = features.as<T>()[at(features.shape, row, c)];
        }
        T* gradient = context.output(1).as<T>() + row * classes;
        loops.log_softmax(1, classes, row_x.data(), row_log.data());
        loops.softmax(1, classes, row_x.data(), gradient);
        T loss = T(0);
        for (int64_t c = 0; c < classes; ++c) {
          const T label = labels.as<T>()[at(labels.shape, row, c)];
          loss -= label == T(0) ? T(0) : label * row_log[static_cast<size_t>(c)];
          gradient[c] -= label;
        }
        context.output(0).as<T>()[row] = loss;
      }
    });
  });
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

// The same for one class a row, given by number.
void SparseCrossEntropy(KernelContext& context) {
  const TensorRef& features = context.input(0);
  const TensorRef& labels = context.input(1);
  if (features.shape.rank() != 2) {
    Throw(Code::kInvalidArgument, "logits must be 2-D, but got shape {}", features.shape.ToString());
  }
  if (labels.shape.rank() != 1) {
    Throw(Code::kInvalidArgument, "labels must be 1-D, but got shape {}", labels.shape.ToString());
  }
  if (labels.shape[0] != features.shape[0]) {
    Throw(Code::kInvalidArgument,
          "logits and labels must have the same first dimension, got logits shape {} and labels shape {}",
          features.shape.ToString(), labels.shape.ToString());
  }
  const int64_t classes = features.shape[1];
  if (classes == 0)
    Throw(Code::kInvalidArgument, "Must have at least one class, but got logits shape {}",
          features.shape.ToString());
  context.SetOutputShape(0, labels.shape);
  context.SetOutputShape(1, features.shape);
  DispatchReal("SparseSoftmaxCrossEntropyWithLogits", features.dtype, [&]<typename T>(T) {
    DispatchIndex("SparseSoftmaxCrossEntropyWithLogits", labels.dtype, [&]<typename Index>(Index) {
      CheckLabels<Index>(labels, classes);
      const RowLoops<T>& loops = HostLoops().rows<T>();
      context.team().ParallelFor(labels.shape[0], RowGrain(classes), [&](int64_t begin, int64_t end) {
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

}  // namespace

void RegisterSoftmaxKernels(KernelRegistry& registry) {
  registry.Register("Softmax", MakeKernel<SoftmaxKernel>);
  registry.Register("LogSoftmax", MakeKernel<SoftmaxKernel>);
  registry.Register("SoftmaxCrossEntropyWithLogits", MakeFunctionKernel<CrossEntropy>);
  registry.Register("SparseSoftmaxCrossEntropyWithLogits", MakeFunctionKernel<SparseCrossEntropy>);
}

}  // namespace lanescope::exec
