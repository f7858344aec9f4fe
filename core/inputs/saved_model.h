// SPDX-License-Identifier: Apache-2.0
// Folders as tf.saved_model.save writes them: a graph, what to call in it, and a checkpoint.
#pragma once

#include <map>
#include <string>

#include "core/graph/graph.h"
#include "core/inputs/run_spec.h"

namespace lanescope {

// Whether the path is a folder with a saved_model.pb.
bool IsSavedModel(const std::string& path);

struct SavedModel {
  Graph graph;   // without calls; the values of its checkpoint are constants where they are restored
  RunSpec spec;  // restores the variables, feeds and fetches what the signature says, and knows its names
  std::map<std::string, std::string> notes;  // by fed tensor: what is taken for a shape that is left open
};

// Reads `signature` of the graph that serves (or the only one); empty: serving_default, or the only. Sizes
// that it leaves open are 1. Throws NotFound for a file or signature that is not there, InvalidArgument for a
// damaged file, and what TensorBundle throws.
SavedModel ReadSavedModel(const std::string& path, const std::string& signature = {});

}  // namespace lanescope
