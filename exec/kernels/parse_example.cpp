// SPDX-License-Identifier: Apache-2.0
// Records that are examples, on host memory.
#include <vector>

#include "core/base/error.h"
#include "core/graph/ops/reader.h"
#include "exec/kernels/host_tensors.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/queue_kernels.h"
#include "exec/readers/example.h"

namespace lanescope::exec {
namespace {

std::vector<std::string> TextsOf(const TensorRef& ref) {
  const auto* texts = ref.as<std::string>();
  return {texts, texts + ref.NumElements()};
}

const std::string& TextOf(const TensorRef& ref) {
  if (ref.shape.rank() == 0) return *ref.as<std::string>();
  Throw(Code::kInvalidArgument, "a key or a single example must be a scalar, not of shape {}",
        ref.shape.ToString());
}

// Outputs in the order of the ops: indices, values and shapes of what is sparse, what is dense, values and
// row splits of what is ragged.
void WriteExamples(KernelContext& context, const ParsedExamples& parsed) {
  int output = 0;
  for (const SparseColumn& column : parsed.sparse) WriteOutput(context, output++, column.indices);
  for (const SparseColumn& column : parsed.sparse) WriteOutput(context, output++, column.values);
  for (const SparseColumn& column : parsed.sparse) WriteOutput(context, output++, column.shape);
  for (const Tensor& column : parsed.dense) WriteOutput(context, output++, column);
  for (const RaggedColumn& column : parsed.ragged) WriteOutput(context, output++, column.values);
  for (const RaggedColumn& column : parsed.ragged) WriteOutput(context, output++, column.row_splits);
}

// The features of all three ops. `defaults`: the first of the dense features' inputs.
class ExampleKernel : public Kernel {
 protected:
  explicit ExampleKernel(const Node& node)
      : sparse_types_(node.TypeListAttr("sparse_types")),
        dense_types_(node.TypeListAttr("Tdense")),
        dense_shapes_(ops::ShapeListOf(node, "dense_shapes")) {
    if (dense_shapes_.size() != dense_types_.size())
      Throw(Code::kInvalidArgument, "len(dense_shapes) attr must match len(Tdense): {} vs {}",
            dense_shapes_.size(), dense_types_.size());
  }

  ExampleFeatures FeaturesOf(KernelContext& context, const std::vector<std::string>& sparse_keys,
                             const std::vector<std::string>& dense_keys, int defaults) const {
    RequireCount("sparse", sparse_keys.size(), sparse_types_.size());
    RequireCount("dense", dense_keys.size(), dense_types_.size());
    ExampleFeatures features;
    for (size_t i = 0; i < sparse_keys.size(); ++i)
      features.sparse.push_back({sparse_keys[i], sparse_types_[i]});
    for (size_t i = 0; i < dense_keys.size(); ++i) {
      features.dense.push_back(
          {dense_keys[i], dense_shapes_[i], CopyOf(context.input(defaults + static_cast<int>(i)))});
    }
    return features;
  }
  static void RequireCount(const char* what, size_t keys, size_t types) {
    if (keys != types)
      Throw(Code::kInvalidArgument, "{} keys of {} features are given, but {} types", keys, what, types);
  }
  size_t num_sparse() const { return sparse_types_.size(); }
  size_t num_dense() const { return dense_types_.size(); }

 private:
  const std::vector<DataType> sparse_types_, dense_types_;
  const std::vector<Shape> dense_shapes_;
};

void RequireNames(const TensorRef& serialized, const TensorRef& names) {
  if (names.NumElements() == 0 || names.shape == serialized.shape) return;
  Throw(Code::kInvalidArgument,
        "Expected names have the same shape as serialized: name.shape={}, serialized.shape={}",
        names.shape.ToString(), serialized.shape.ToString());
}

class ParseExampleKernel final : public ExampleKernel {
 public:
  explicit ParseExampleKernel(const Node& node) : ExampleKernel(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& serialized = context.input(0);
    if (serialized.shape.rank() != 1)
      Throw(Code::kInvalidArgument, "Expected serialized to be a vector, got shape: {}",
            serialized.shape.ToString());
    RequireNames(serialized, context.input(1));
    const size_t inputs = 2 + num_sparse() + 2 * num_dense();
    if (static_cast<size_t>(context.num_inputs()) != inputs)
      Throw(Code::kInvalidArgument, "{} inputs, but the keys and defaults of its features are {}",
            context.num_inputs(), inputs);
    std::vector<std::string> keys[2];
    int input = 2;
    for (size_t i = 0; i < num_sparse(); ++i) keys[0].push_back(TextOf(context.input(input++)));
    for (size_t i = 0; i < num_dense(); ++i) keys[1].push_back(TextOf(context.input(input++)));
    const ExampleFeatures features = FeaturesOf(context, keys[0], keys[1], input);
    CheckFeatures(features);
    WriteExamples(context, ParseExamples(TextsOf(serialized), TextsOf(context.input(1)), features));
  }
};

class ParseExampleV2Kernel final : public ExampleKernel {
 public:
  explicit ParseExampleV2Kernel(const Node& node)
      : ExampleKernel(node),
        ragged_types_(node.TypeListAttr("ragged_value_types")),
        split_types_(node.TypeListAttr("ragged_split_types")) {
    RequireCount("ragged", ragged_types_.size(), split_types_.size());
  }

  void Compute(KernelContext& context) override {
    const TensorRef& serialized = context.input(0);
    if (serialized.shape.rank() > 1)
      Throw(Code::kInvalidArgument, "Expected serialized to be a scalar or vector, got shape: {}",
            serialized.shape.ToString());
    RequireNames(serialized, context.input(1));
    ExampleFeatures features =
        FeaturesOf(context, TextsOf(context.input(2)), TextsOf(context.input(3)), kFirstDefault);
    const std::vector<std::string> ragged = TextsOf(context.input(4));
    RequireCount("ragged", ragged.size(), ragged_types_.size());
    for (size_t i = 0; i < ragged.size(); ++i)
      features.ragged.push_back({{ragged[i], ragged_types_[i]}, split_types_[i]});
    CheckFeatures(features);
    if (serialized.shape.rank() == 0)
      return WriteExamples(context, ParseExample(TextsOf(serialized)[0], features));
    WriteExamples(context, ParseExamples(TextsOf(serialized), TextsOf(context.input(1)), features));
  }

 private:
  static constexpr int kFirstDefault = 5;
  const std::vector<DataType> ragged_types_, split_types_;
};

class ParseSingleExampleKernel final : public ExampleKernel {
 public:
  explicit ParseSingleExampleKernel(const Node& node)
      : ExampleKernel(node),
        sparse_keys_(node.StringListAttr("sparse_keys")),
        dense_keys_(node.StringListAttr("dense_keys")) {}

  void Compute(KernelContext& context) override {
    const ExampleFeatures features = FeaturesOf(context, sparse_keys_, dense_keys_, 1);
    CheckFeatures(features);
    WriteExamples(context, ParseExample(TextOf(context.input(0)), features));
  }

 private:
  const std::vector<std::string> sparse_keys_, dense_keys_;
};

}  // namespace

void RegisterExampleKernels(KernelRegistry& registry) {
  registry.Register("ParseExample", MakeKernel<ParseExampleKernel>);
  registry.Register("ParseExampleV2", MakeKernel<ParseExampleV2Kernel>);
  registry.Register("ParseSingleExample", MakeKernel<ParseSingleExampleKernel>);
}

}  // namespace lanescope::exec
