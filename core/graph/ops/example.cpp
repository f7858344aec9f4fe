// SPDX-License-Identifier: Apache-2.0
// Records that are tf.train.Example messages as columns of tensors.
#include <cstdint>

#include "core/base/error.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/reader.h"

namespace lanescope::ops {

std::vector<Shape> ShapeListOf(const Node& node, std::string_view attr) {
  std::vector<Shape> shapes;
  const AttrValue* value = node.FindAttr(attr);
  if (value == nullptr) return shapes;
  if (const auto* list = std::get_if<std::vector<ShapeAttr>>(value)) {
    for (const ShapeAttr& shape : *list) shapes.push_back(shape.shape);
  }
  return shapes;
}

namespace {

// The features of a node, whose outputs are in this order.
struct ExampleOutputs {
  explicit ExampleOutputs(const Node& node)
      : sparse(static_cast<int>(node.TypeListAttr("sparse_types").size())),
        dense(ShapeListOf(node, "dense_shapes")) {
    if (node.FindAttr("ragged_value_types") != nullptr)
      ragged = static_cast<int>(node.TypeListAttr("ragged_value_types").size());
  }
  int count() const { return 3 * sparse + static_cast<int>(dense.size()) + 2 * ragged; }

  int sparse = 0;
  std::vector<Shape> dense;
  int ragged = 0;
};

// `rows`: the dimension of the examples, unless there is a single one.
void SetExampleShapes(InferenceContext& context, const std::optional<Dim>& rows) {
  const ExampleOutputs outputs(context.node());
  if (context.num_outputs() != outputs.count()) {
    Throw(Code::kInvalidArgument, "node has {} outputs, but its types and shapes are of features with {}",
          context.num_outputs(), outputs.count());
  }
  const int64_t index = rows ? 2 : 1;
  int output = 0;
  for (int i = 0; i < outputs.sparse; ++i) context.SetShape(output++, Shape{kUnknownDim, index});
  for (int i = 0; i < outputs.sparse; ++i) context.SetShape(output++, Shape{kUnknownDim});
  for (int i = 0; i < outputs.sparse; ++i) context.SetShape(output++, Shape{index});
  for (const Shape& value : outputs.dense) {
    Shape shape;
    if (rows) shape.Append(*rows);
    for (int d = 0; value.known_rank() && d < value.rank(); ++d) shape.Append(value[d]);
    context.SetShape(output++, value.known_rank() ? shape : Shape::Unknown());
  }
  for (int i = 0; i < outputs.ragged; ++i) context.SetShape(output++, Shape{kUnknownDim});
  for (int i = 0; i < outputs.ragged; ++i) {
    const Dim splits = !rows ? 0 : IsExact(*rows) ? *rows + 1 : kUnknownDim;
    context.SetShape(output++, Shape{splits});
  }
}

void InferParseExample(InferenceContext& context) {
  const Shape& serialized = context.shape(0);
  context.RequireRank(0, 1);
  const auto keys = context.node().IntAttr("Nsparse") + context.node().IntAttr("Ndense");
  for (int i = 0; i < keys && i + 2 < context.num_inputs(); ++i) context.RequireRank(i + 2, 0);
  SetExampleShapes(context, serialized.known_rank() ? serialized[0] : kUnknownDim);
}

// A vector of examples, or one.
void InferParseExampleV2(InferenceContext& context) {
  const Shape& serialized = context.shape(0);
  if (!serialized.known_rank()) return;
  if (serialized.rank() > 1) {
    Throw(Code::kInvalidArgument, "Shape must be at most rank 1 but is rank {}", serialized.rank());
  }
  SetExampleShapes(context, serialized.rank() == 0 ? std::nullopt : std::optional<Dim>(serialized[0]));
}

void InferParseSingleExample(InferenceContext& context) {
  context.RequireRank(0, 0);
  SetExampleShapes(context, std::nullopt);
}

}  // namespace

void RegisterExampleOps(OpRegistry& registry) {
  const OpLister op(registry);
  const std::string sparse =
      "sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; "
      "dense_shapes: "
      "list(shape) >= 0";
  op("ParseExample(serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: Ndense * "
     "string, "
     "dense_defaults: Tdense) -> (sparse_indices: Nsparse * int64, sparse_values: sparse_types, "
     "sparse_shapes: "
     "Nsparse * int64, dense_values: Tdense)",
     "Nsparse: int >= 0; Ndense: int >= 0; " + sparse)
      .Infer(InferParseExample)
      .HostOnly();
  op("ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, "
     "ragged_keys: "
     "string, dense_defaults: Tdense) -> (sparse_indices: num_sparse * int64, sparse_values: sparse_types, "
     "sparse_shapes: num_sparse * int64, dense_values: Tdense, ragged_values: ragged_value_types, "
     "ragged_row_splits: ragged_split_types)",
     "num_sparse: int >= 0; " + sparse +
         "; ragged_value_types: list({float, int64, string}) >= 0; ragged_split_types: list(index) >= 0")
      .Infer(InferParseExampleV2)
      .HostOnly();
  op("ParseSingleExample(serialized: string, dense_defaults: Tdense) -> (sparse_indices: num_sparse * int64, "
     "sparse_values: sparse_types, sparse_shapes: num_sparse * int64, dense_values: Tdense)",
     "num_sparse: int >= 0; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; " + sparse)
      .Infer(InferParseSingleExample)
      .HostOnly();
}

}  // namespace lanescope::ops
