#include "exec/kernels/window.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace lanescope::exec {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

}  // namespace

std::array<int64_t, 2> SpatialAttr(const Node& node, std::string_view attr) {
  if (node.FindAttr(attr) == nullptr) return {1, 1};
  const std::vector<int64_t>& all = node.IntListAttr(attr);
  if (all.size() != 4) {
    Throw(Code::kInvalidArgument, "node {}: {} must have 4 values, not {}", node.name, attr, all.size());
  }
  if (all[0] != 1 || all[3] != 1) {
    Throw(Code::kUnimplemented, "node {}: {} over batch or channels has no kernel", node.name, attr);
  }
  if (all[1] < 1 || all[2] < 1 || all[1] > kLargest || all[2] > kLargest) {
    Throw(Code::kInvalidArgument, "node {}: {} must be positive and below 2^31", node.name, attr);
  }
  return {all[1], all[2]};
}

WindowAttrs::WindowAttrs(const Node& node) : padding_(node.StringAttr("padding")) {
  const std::string format = node.StringAttr("data_format", "NHWC");
  if (format != "NHWC") {
    Throw(Code::kUnimplemented, "node {}: {} has kernels for the NHWC format alone, not for {}", node.name,
          node.op, format);
  }
  if (padding_ != "VALID" && padding_ != "SAME" && padding_ != "EXPLICIT") {
    Throw(Code::kInvalidArgument, "node {}: padding {} is none of SAME, VALID, EXPLICIT", node.name,
          padding_);
  }
  for (const char* attr : {"strides", "dilations"}) SpatialAttr(node, attr);
  for (const int other : {0, 3}) {
    const ops::Window window = ops::WindowOf(node, other, 1);
    if (window.before == 0 && window.after == 0) continue;
    Throw(Code::kInvalidArgument, "node {}: explicit_paddings of batch and channels must be 0", node.name);
  }
  for (int axis = 1; axis < 3; ++axis) axes_[static_cast<size_t>(axis - 1)] = ops::WindowOf(node, axis, 1);
}

WindowDim WindowAttrs::Resolve(int axis, int64_t in, int64_t size) const {
  ops::Window window = axes_[static_cast<size_t>(axis - 1)];
  window.size = size;
  WindowDim dim{in,
                ops::WindowedDim(in, window, padding_),
                size,
                window.stride,
                window.dilation,
                window.before,
                window.after};
  if (padding_ == "SAME") {
    const int64_t needed = std::max<int64_t>(0, (dim.out - 1) * dim.stride + dim.reach() - in);
    dim.before = needed / 2;
    dim.after = needed - dim.before;
  }
  return dim;
}

}  // namespace lanescope::exec
