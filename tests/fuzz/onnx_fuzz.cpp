// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as an ONNX model: it is refused, or makes a graph that writes, reads and infers like any
// other.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/graph/graph_io.h"
#include "core/graph/op.h"
#include "core/inputs/onnx_model.h"
#include "core/inputs/step_request.h"
#include "tests/fuzz/hostile.h"

namespace lanescope {
namespace {

void TryModel(std::string_view bytes) {
  OnnxModel model;
  if (!Try([&] { model = ParseOnnxModel(bytes, ""); })) return;
  for (const auto& [name, feed] : model.spec.feeds) {
    // Feeds of any size are made only when a step runs.
    if (!model.graph.FindNode(name).exists()) std::abort();
  }
  const std::string binary = GraphToBinary(model.graph);
  if (GraphToBinary(ParseGraphBinary(binary)) != binary) std::abort();
  Try([&] { InferGraph(model.graph, StepRequestOf(model.graph, model.spec).feeds); });
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryModel({reinterpret_cast<const char*>(data), size});
  return 0;
}
