// SPDX-License-Identifier: Apache-2.0
// Branches and loops of ONNX. Internal to core.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/inputs/onnx/node_reader.h"

namespace lanescope {

bool IsControlFlow(std::string_view op);
std::vector<std::string> ControlFlowOps();

// The outputs of an If, Loop or Scan: its bodies written out, a loop's as often as it runs. Empty where that
// is not known or too much; `flops` is then what it takes, where that is known.
OnnxValues ControlFlow(OnnxNodeReader& reader, const OnnxNode& node, const OnnxValues& inputs,
                       const std::string& name, std::optional<double>* flops);

}  // namespace lanescope
