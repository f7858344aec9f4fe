// SPDX-License-Identifier: Apache-2.0
// Model files of other programs, given where a graph was wanted. Internal to core/graph.
#pragma once

#include <string>

namespace lanescope {

// Throws InvalidArgument for a file that its content shows to be no GraphDef but a model or weights of Keras,
// PyTorch, TensorFlow Lite, or the description inside a SavedModel: what it is, and what to do. Whatever else
// it is, or that it is not there, passes.
void RefuseForeignModel(const std::string& path);

}  // namespace lanescope
