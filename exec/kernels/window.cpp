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
    Throw(Code::kUnimplemented, "node {}: {} over batch or channels has no host kernel", node.name, attr);
  }
  if (all[1] < 1 || all[2] < 1 || all[1] > kLargest || all[2] > kLargest) {
    Throw(Code::kInvalidArgument, "node {}: {} must be positive and below 2^31", node.name, attr);
  }
  return {all[1], all[2]};
}

WindowAttrs::WindowAttrs(const Node& node) {
  const std::string format = node.StringAttr("data_format", "NHWC");
  if (format != "NHWC") {
    Throw(Code::kUnimplemented, "node {}: {} on host memory supports only the NHWC format, not {}", node.name,
          node.op, format);
  }
  strides_ = SpatialAttr(node, "strides");
  dilations_ = SpatialAttr(node, "dilations");
  const std::string& padding = node.StringAttr("padding");
  if (padding == "EXPLICIT") {
    padding_ = Padding::kExplicit;
    const std::vector<int64_t>& pads = node.IntListAttr("explicit_paddings");
    const bool valid =
        pads.size() == 8 && pads[0] == 0 && pads[1] == 0 && pads[6] == 0 && pads[7] == 0 &&
        std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0 && pad <= kLargest; });
    if (!valid) {
      Throw(Code::kInvalidArgument,
            "node {}: explicit_paddings must be 8 values in [0, 2^31), those of batch and channels 0",
            node.name);
    }
    std::copy(pads.begin() + 2, pads.begin() + 6, explicit_.begin());
  } else if (padding == "SAME") {
    padding_ = Padding::kSame;
  } else if (padding != "VALID") {
    Throw(Code::kInvalidArgument, "node {}: padding {} is none of SAME, VALID, EXPLICIT", node.name, padding);
  }
}

WindowDim WindowAttrs::Resolve(int axis, int64_t in, int64_t size) const {
  const auto i = static_cast<size_t>(axis - 1);
  WindowDim dim;
  dim.in = in;
  dim.size = size;
  dim.stride = strides_[i];
  dim.dilation = dilations_[i];
  if (size < 1) Throw(Code::kInvalidArgument, "a window of size {} is empty", size);
  if (padding_ == Padding::kSame) {
    dim.out = (in + dim.stride - 1) / dim.stride;
    const int64_t needed = std::max<int64_t>(0, (dim.out - 1) * dim.stride + dim.reach() - in);
    dim.before = needed / 2;
    dim.after = needed - dim.before;
    return dim;
  }
  if (padding_ == Padding::kExplicit) {
    dim.before = explicit_[2 * i];
    dim.after = explicit_[2 * i + 1];
  }
  const int64_t room = in + dim.before + dim.after - dim.reach();
  if (room < -dim.stride) {
    Throw(Code::kInvalidArgument,
          "a window that reaches over {} cells does not fit into {} cells with padding {} + {}", dim.reach(),
          in, dim.before, dim.after);
  }
  dim.out = room < 0 ? 0 : room / dim.stride + 1;
  return dim;
}

}  // namespace lanescope::exec
