// SPDX-License-Identifier: Apache-2.0
// The changes of an edit in words: titles of what-ifs, texts of Undo.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "gui/document/document_whatif.h"

namespace lanescope::gui {

// "conv1 to GPU:1", "4 ops to GPU:1".
std::string MoveText(size_t count, std::string_view first, std::string_view device);
// "GPU:0 to GPU:1 at 2GB/s".
std::string LinkText(const Machine& machine, const LinkSpec& link);
// "GPU:0 at 2.00 times its speed".
std::string SpeedText(const DeviceSpec& device, double speed);
// "nodes share launches", "a launch for each node".
std::string FusionText(bool fused);

// All that differs from `start`: moved ops by the device they went to, then links, speeds and launches. "as
// it was": nothing.
std::string ChangesText(const Graph& graph, const WhatIfEdit& start, const WhatIfEdit& edit);

}  // namespace lanescope::gui
