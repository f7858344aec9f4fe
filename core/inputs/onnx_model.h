// SPDX-License-Identifier: Apache-2.0
// Models in ONNX files, as graphs of the ops that are known here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/shape.h"
#include "core/inputs/run_spec.h"

namespace lanescope {

// Whether the path is named as an ONNX file is.
bool IsOnnxModel(std::string_view path);

struct OnnxModel {
  Graph graph;   // weights are constants; ops that are not known here stay as ops known by their cost alone
  RunSpec spec;  // feeds the inputs with numbers that are made, fetches the outputs
  std::vector<std::string> notes;  // of inputs whose shape the model leaves open
};

// `shapes`: of inputs, by the model's names; they fill what the model leaves open, and what it computes of
// that
// ("past + sequence"). What follows from nothing is 1. Throws NotFound for a
// file that is not there, InvalidArgument for a damaged model or a shape that contradicts it, Unimplemented
// for a type of tensor that no graph here has.
OnnxModel ReadOnnxModel(const std::string& path, const std::map<std::string, Shape>& shapes = {});
// `folder`: where the files of weights lie that are not in the model itself; empty: they are refused.
OnnxModel ParseOnnxModel(std::string_view bytes, const std::string& folder,
                         const std::map<std::string, Shape>& shapes = {});

// The ops that are known here, by name; those of other domains with their domain before it.
std::vector<std::string> OnnxOps();
// Whether `op`, as which a graph has an op by its cost alone, is one that is known here: with the shapes of
// its inputs it would be read as other ops.
bool ReadsByShape(std::string_view op);
// The model's step as a run configuration.
std::string RunConfigurationOf(const OnnxModel& model);

}  // namespace lanescope
