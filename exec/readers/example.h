// SPDX-License-Identifier: Apache-2.0
// Records that are tf.train.Example messages as columns of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/graph/shape.h"
#include "core/graph/tensor.h"

namespace lanescope::exec {

// A feature whose values of one example have a shape. Where its first dimension is unknown, the examples of a
// batch are as long as the longest of them, the shorter ones padded.
struct DenseFeature {
  std::string key;
  Shape shape;
  // The value of an example without the feature, or the padding of a feature of unknown length; of no
  // elements: every example must have it. Its type is the feature's.
  Tensor default_value;
};

// A feature of any number of values.
struct ListFeature {
  std::string key;
  DataType dtype = DataType::kFloat;
};

struct RaggedFeature : ListFeature {
  DataType split_dtype = DataType::kInt64;  // int32 or int64
};

struct ExampleFeatures {
  std::vector<ListFeature> sparse;
  std::vector<DenseFeature> dense;
  std::vector<RaggedFeature> ragged;
};

struct SparseColumn {
  Tensor indices, values, shape;
};
struct RaggedColumn {
  Tensor values, row_splits;
};
struct ParsedExamples {
  std::vector<SparseColumn> sparse;
  std::vector<Tensor> dense;
  std::vector<RaggedColumn> ragged;
};

// Throws InvalidArgument for features that cannot be.
void CheckFeatures(const ExampleFeatures& features);

// One row an example, in order. `names`: of the examples, for messages; or none. Of a feature that is there
// twice the last one counts. Throws InvalidArgument naming feature and example.
ParsedExamples ParseExamples(std::span<const std::string> serialized, std::span<const std::string> names,
                             const ExampleFeatures& features);

// One example, without a dimension for rows; a feature of unknown length is as long as it is.
ParsedExamples ParseExample(const std::string& serialized, const ExampleFeatures& features);

}  // namespace lanescope::exec
