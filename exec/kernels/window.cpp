// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/window.h"

namespace lanescope::exec {

void RequireChannelsLast(const Node& node) {
  const std::string format = node.StringAttr("data_format", "NHWC");
  if (format == "NHWC") return;
  Throw(Code::kUnimplemented, "node {}: {} has kernels for the NHWC format alone, not for {}", node.name,
        node.op, format);
}

}  // namespace lanescope::exec
