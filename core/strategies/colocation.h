// SPDX-License-Identifier: Apache-2.0
// Which nodes a node asks to lie beside (`_class`: "loc:@name"), where those get other names. Internal to
// core.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/graph/graph.h"

namespace lanescope {

// `now`: what a named node is called; none: the node lies beside it no more. Other classes stay. A node that
// is left with none loses the attribute.
void RenameColocation(Node* node, const std::function<std::optional<std::string>(const std::string&)>& now);

}  // namespace lanescope
