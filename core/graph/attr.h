// SPDX-License-Identifier: Apache-2.0
// Attributes of a node: what a GraphDef's AttrValue can say. Kinds that no pass here reads (functions,
// placeholders) are kept as their serialized bytes, so that a file comes out as it went in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/base/dtype.h"
#include "core/graph/shape.h"
#include "core/graph/tensor.h"

namespace lanescope {

// A constant, decoded once, beside the serialized TensorProto that it came from (empty: built in memory).
// `value` is invalid where the dtype has no elements here (handles, variants). Immutable, shared.
struct TensorAttr {
  Tensor value;
  std::string proto;
};

// An AttrValue kept as serialized bytes.
struct RawAttr {
  std::string proto;
};

// TensorShapeProto may have more than Shape::kMaxRank dimensions (`shape` is then unknown) or named ones;
// `proto` then keeps the original.
struct ShapeAttr {
  Shape shape;
  std::string proto;
};

// A file does not say of what type an empty list is: it is read as an empty std::vector<int64_t>, and the
// list accessors of Node take any empty list for the one asked for.
using AttrValue =
    std::variant<std::string, int64_t, float, bool, DataType, ShapeAttr, std::shared_ptr<const TensorAttr>,
                 std::vector<std::string>, std::vector<int64_t>, std::vector<float>, std::vector<bool>,
                 std::vector<DataType>, std::vector<ShapeAttr>, RawAttr>;

using AttrMap = std::map<std::string, AttrValue, std::less<>>;

}  // namespace lanescope
