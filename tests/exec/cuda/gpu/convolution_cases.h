// SPDX-License-Identifier: Apache-2.0
// A convolution of one shape and its two gradients.
#pragma once

#include <string>
#include <vector>

#include "tests/exec/cuda/gpu/op_cases.h"

namespace lanescope::exec::test {

struct ConvSizes {
  Shape images, filter;
  int64_t stride, dilation;
  std::string padding;
  std::vector<int64_t> explicit_padding = {};
};

struct ConvCases {
  OpCase forward, input_grad, filter_grad;
};

inline ConvCases CasesOf(const ConvSizes& s, DataType t, const std::string& op) {
  AttrMap more = {{"strides", IntsAttr({1, s.stride, s.stride, 1})},
                  {"dilations", IntsAttr({1, s.dilation, s.dilation, 1})},
                  {"padding", StringAttr(s.padding)}};
  if (!s.explicit_padding.empty()) more.emplace("explicit_paddings", IntsAttr(s.explicit_padding));
  const auto sizes = [](const Shape& shape) {
    std::vector<int32_t> values;
    for (const Dim dim : shape.dims()) values.push_back(static_cast<int32_t>(dim));
    return Ints(values);
  };
  const Tensor images = Random(t, s.images);
  const Tensor filter = Random(t, s.filter, 2);
  const OpCase forward = Case(op, With(t, more), {images, filter});
  const Tensor dy = Random(t, PlansOf(forward)[0].shape, 3);
  return {forward, Case(op + "BackpropInput", With(t, more), {sizes(s.images), filter, dy}),
          Case(op + "BackpropFilter", With(t, more), {images, sizes(s.filter), dy})};
}

inline ConvCases CasesOf(const ConvSizes& s, DataType t) { return CasesOf(s, t, "Conv2D"); }
inline ConvCases DepthwiseCasesOf(const ConvSizes& s, DataType t) {
  return CasesOf(s, t, "DepthwiseConv2dNative");
}

// cuDNN adds in an order of its own: what counts is the whole. Rounding leaves a few 1e-7 of float sums, and
// TF32, which nobody allowed here, some 1e-4.
inline void CheckConvolution(const ConvSizes& s, DataType t) {
  const double tolerance = t == kFloat ? 1e-5 : 1e-12;
  const ConvCases cases = CasesOf(s, t);
  for (const OpCase* c : {&cases.forward, &cases.input_grad, &cases.filter_grad})
    CheckOp(*c, tolerance, true, ExpectCloseInNorm);
}

}  // namespace lanescope::exec::test
