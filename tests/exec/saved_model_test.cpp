// SPDX-License-Identifier: Apache-2.0
// Trained models as TensorFlow saves them, run without it.
#include "core/inputs/saved_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/expand/functions.h"
#include "core/place/placer.h"
#include "tests/exec/session_harness.h"
#include "tests/support/paths.h"

namespace lanescope::exec::test {
namespace {

class RecordedModels : public testing::TestWithParam<const char*> {};

TEST_P(RecordedModels, ComputeWhatTensorFlowComputes) {
  const std::string path = lanescope::test::SourceDir() + "/tests/golden/saved_models/" + GetParam();
  const auto recorded = nlohmann::json::parse(ReadFile(path + ".json"));
  const SavedModel model = ReadSavedModel(path);
  const auto& [input, feed] = *model.spec.feeds.begin();
  InlineOptions options;
  options.feeds[input].dtype = feed.dtype;
  options.feeds[input].shape = feed.shape;
  const Graph graph = InlineFunctions(model.graph, options);
  const Machine machine = FastMachine(1);
  const Placement placement = PlaceGraph(graph, machine, {});
  Session session(graph, placement, machine);
  for (const std::string& target : model.spec.init) session.Run({{}, {}, {target}});
  Tensor x(feed.dtype, feed.shape);
  for (int i = 0; i < 2; ++i) x.data<float>()[i] = recorded.at("x")[0][static_cast<size_t>(i)].get<float>();
  const std::vector<Tensor> results = session.Run({{{input, x}}, model.spec.fetches, {}}).fetches;
  size_t at = 0;
  for (const auto& [key, expected] : recorded.at("outputs").items()) {
    const Tensor& result = results.at(at++);
    if (!expected.is_array()) {
      EXPECT_EQ(result.IntAt(0), expected.get<int>()) << key;
      continue;
    }
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(result.data<float>()[i], expected[0][i].get<double>(), 1e-4) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(, RecordedModels, testing::Values("module", "version_1", "keras"));

}  // namespace
}  // namespace lanescope::exec::test
