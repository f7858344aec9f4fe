// SPDX-License-Identifier: Apache-2.0
// One step of a graph: G.run.json beside G.pbtxt.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/graph/tensor.h"

namespace lanescope {

// A fed tensor: fixed values, a file, or a generator (docs/reference/run-configuration.md gives the exact
// arithmetic).
struct FeedSpec {
  DataType dtype = DataType::kFloat;
  Shape shape;            // exact
  Tensor values;          // valid for "values" and "file"
  std::string generator;  // "uniform", "integers", "polynomial", "review", "review_rating"; empty: values
  double low = 0, high = 1;
  uint64_t seed = 0;
  bool has_seed = false;  // false: the configuration leaves the seed to whoever runs the step
  std::string of;
  std::vector<double> coefficients;
  int64_t vocabulary = 0, classes = 0, block = 0;
  double signal = 0;
  int tower = 0;
};

// The ops that fill a queue while steps empty it: each runs again and again in a thread of its own.
struct QueueRunnerSpec {
  std::string queue;                     // what messages call it
  std::vector<std::string> enqueue_ops;  // nodes
  std::string close_op, cancel_op;       // nodes; empty: none
  std::vector<Code> closed_on;           // errors that say that there is no more; empty: OutOfRange
};

struct RunSpec {
  std::vector<std::string> init;
  // Tensors of the graph by other names that feeds and fetches may have: a model's, a signature's.
  std::map<std::string, std::string> aliases;
  // The model's own names of tensors, where they differ from the graph's: fetches are listed by them.
  std::map<std::string, std::string> titles;
  std::map<std::string, FeedSpec> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  std::map<std::string, int> batch_axis;
  std::string loss;
  std::map<std::string, int64_t> trips;  // by loop: how often its body runs at most
  std::vector<QueueRunnerSpec> queue_runners;
};

// The graph's name of a tensor that may be asked for by another one.
std::string GraphTensorOf(const RunSpec& spec, const std::string& name);
// How a tensor of the graph is listed.
std::string TitleOf(const RunSpec& spec, const std::string& tensor);
std::vector<std::string> FetchTitles(const RunSpec& spec);

// Throws InvalidArgument naming the key. `directory`: where relative files lie; files outside it are refused.
RunSpec ParseRunSpec(std::string_view json, const std::string& directory);
// The G.run.json beside `graph_path`; an empty RunSpec if there is none.
RunSpec ReadRunSpecBeside(const std::string& graph_path);

// The values of all feeds for step number `step` (0-based; warm-up steps counted). Deterministic.
std::map<std::string, Tensor> MakeFeeds(const RunSpec& spec, int64_t step);

// .npy files (NumPy format 1.0 to 3.0; float16/32/64, integers, bool; C order). Throw InvalidArgument,
// NotFound.
Tensor ReadNpy(const std::string& path);
Tensor ParseNpy(std::string_view bytes);
void WriteNpy(const Tensor& tensor, const std::string& path);

}  // namespace lanescope
