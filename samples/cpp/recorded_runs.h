// SPDX-License-Identifier: Apache-2.0
// Records of a sample's runs, for other programs to run them, too: with LANESCOPE_RECORD_RUNS=FOLDER in the
// environment every GraphRun writes PROGRAM_NUMBER.pbtxt, its graph, and PROGRAM_NUMBER.runs.json, the first
// runs of it: what was fed and fetched (as .npy files, or strings), and the targets.
// samples/export/replay_runs.py runs them in TensorFlow.
#pragma once

#include <errno.h>  // program_invocation_short_name

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"

namespace samples {

class RunRecorder {
 public:
  explicit RunRecorder(const lanescope::Graph& graph) {
    const char* folder = std::getenv("LANESCOPE_RECORD_RUNS");
    if (folder == nullptr) return;
    static int graphs = 0;
    path_ = std::string(folder) + "/" + program_invocation_short_name + "_" + std::to_string(graphs++);
    lanescope::WriteGraph(graph, path_ + ".pbtxt");
  }

  void Add(const std::map<std::string, lanescope::Tensor>& feeds, const std::vector<std::string>& targets,
           const std::vector<std::string>& fetches, const std::vector<lanescope::Tensor>& values) {
    if (path_.empty() || runs_ == kMostRuns) return;
    std::string fed, fetched, ran;
    for (const auto& [name, tensor] : feeds) fed += Comma(fed) + Entry(name, tensor);
    for (size_t i = 0; i < fetches.size(); ++i) fetched += Comma(fetched) + Entry(fetches[i], values[i]);
    for (const std::string& target : targets) ran += Comma(ran) + "\"" + target + "\"";
    text_ += (runs_++ == 0 ? "" : ",\n") + std::string("{\"feeds\": {") + fed + "}, \"targets\": [" + ran +
             "], \"fetches\": {" + fetched + "}}";
    std::ofstream(path_ + ".runs.json") << "[" << text_ << "]\n";
  }

 private:
  static constexpr int kMostRuns = 120;

  static std::string Comma(const std::string& before) { return before.empty() ? "" : ", "; }
  // Names of nodes have no characters that JSON would escape.
  std::string Entry(const std::string& name, const lanescope::Tensor& tensor) {
    if (tensor.dtype() == lanescope::DataType::kString) return "\"" + name + "\": " + Strings(tensor);
    const std::string file = path_ + "_" + std::to_string(files_++) + ".npy";
    lanescope::WriteNpy(tensor, file);
    return "\"" + name + "\": \"" + file.substr(file.rfind('/') + 1) + "\"";
  }

  // Names of the samples are plain words.
  static std::string Strings(const lanescope::Tensor& tensor) {
    std::string shape, words;
    for (const lanescope::Dim dim : tensor.shape().dims()) shape += Comma(shape) + std::to_string(dim);
    for (int64_t i = 0; i < tensor.NumElements(); ++i)
      words += Comma(words) + "\"" + tensor.data<std::string>()[i] + "\"";
    return "{\"shape\": [" + shape + "], \"strings\": [" + words + "]}";
  }

  std::string path_, text_;
  int runs_ = 0, files_ = 0;
};

}  // namespace samples
