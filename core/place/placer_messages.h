// SPDX-License-Identifier: Apache-2.0
// Pieces of the placer's error texts. Internal to core.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "core/place/device_table.h"
#include "core/place/kernel_table.h"

namespace lanescope {

// "{{node x}}" and "{{colocation_node x}}": tags that tools replace by the place where the node was made.
std::string NodeTag(std::string_view name);
std::string ColocationTag(std::string_view name);
// message + "\n\t [[{{node x}}]]"
std::string WithNodeTag(std::string_view message, const Node& node);
// "T=DT_FLOAT, _class=["loc:@x"]"
std::string SummarizeAttrs(const Node& node);
// One line per kernel of the op, or "  <no registered kernels>\n".
std::string RegisteredKernels(std::string_view op, const KernelTable& kernels);
// "GPU, CPU"
std::string TypeNames(const DeviceTable& devices);

}  // namespace lanescope
