// SPDX-License-Identifier: Apache-2.0
// Shapes and constants between memory and the GraphDef messages. Internal to core: brings in generated
// headers.
#pragma once

#include <string>

#include "core/graph/shape.h"
#include "core/graph/tensor.h"
#include "lanescope_tensor.pb.h"

namespace lanescope {

// A few bytes of a file can declare a huge constant (one value, repeated). What constants take in memory
// beyond the bytes given for them is charged here, for a whole graph: at most 2^31 bytes.
class ExpansionBudget {
 public:
  // Throws InvalidArgument when the budget is spent.
  void Charge(int64_t bytes, const Shape& shape);

 private:
  int64_t left_ = int64_t{1} << 31;
};

// Unknown where it has more than Shape::kMaxRank dimensions. Throws InvalidArgument for a size below -1.
Shape ShapeFromProto(const tf::TensorShapeProto& proto);
// Dimensions that are bounded or unknown become -1.
void ShapeToProto(const Shape& shape, tf::TensorShapeProto* proto);

// An invalid tensor for a dtype without elements here (handles, variants, references, unknown ones) or more
// than Shape::kMaxRank dimensions. Throws InvalidArgument for an inexact shape, content of the wrong length,
// or an absurd size.
Tensor TensorFromProto(const tf::TensorProto& proto, ExpansionBudget* budget);
void TensorToProto(const Tensor& tensor, tf::TensorProto* proto);

// Equal messages give equal bytes (maps in order of their keys).
std::string SerializeInOrder(const google::protobuf::MessageLite& message);

}  // namespace lanescope
