// SPDX-License-Identifier: Apache-2.0
// The key under which the cost of an op is remembered: what determines its work, as text.
#pragma once

#include <span>
#include <string>

#include "core/graph/op.h"

namespace lanescope {

// "Sum(float[32,800];int32[1]=1)->float[32]{keep_dims=true}": op, dtypes and shapes of inputs and outputs,
// values of small constant integer inputs (an axis, a permutation), and the attributes that differ from their
// defaults. Left out, since they do not change the work: element types that the inputs show already, names,
// seeds, constants' contents, and attributes that begin with '_'. Two nodes of equal signature do equal work.
std::string OpSignature(const Node& node, std::span<const TensorInfo> inputs,
                        std::span<const TensorInfo> outputs);

// "Copy(float[32,800])", of a tensor of this type and shape.
std::string CopySignature(DataType dtype, const Shape& shape);

// The work of a launch, as far as it is known without its graph.
struct SignedWork {
  std::string signature;  // OpSignature; empty: unknown
  std::string op;
  OpWork work;
};

}  // namespace lanescope
