// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/default_feed.h"

#include "core/base/error.h"

namespace lanescope {

FeedSpec DefaultFeed(const std::string& name, DataType dtype, const Shape& shape) {
  FeedSpec feed;
  feed.dtype = dtype;
  feed.shape = shape;
  feed.has_seed = true;
  switch (dtype) {
    case DataType::kFloat:
    case DataType::kDouble:
    case DataType::kHalf:
    case DataType::kBfloat16:
      feed.generator = "uniform";
      return feed;
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUint8:
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kBool:
      feed.generator = "integers";
      feed.high = 2;
      return feed;
    case DataType::kString:
      feed.values = Tensor(dtype, shape);
      return feed;
    default:
      Throw(Code::kUnimplemented, "the input '{}' is of type {}, which no feed has", name,
            DataTypeName(dtype));
  }
}

}  // namespace lanescope
