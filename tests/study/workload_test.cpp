// SPDX-License-Identifier: Apache-2.0
#include "study/workload/workload.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "tests/core/base/expect_error.h"
#include "tests/traces/sample_run.h"

namespace lanescope::study {
namespace {

// y = tanh(x), of a size that only a feed tells.
Graph Tanh() {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 3});
  builder.Op("Tanh", "y").Input(x).Build();
  return builder.Take();
}

TEST(WorkloadTest, AStepThatIsNotConfiguredIsRefused) {
  EXPECT_EQ(ErrorOf([] { Workload("tanh", Tanh(), {}); }),
            "InvalidArgument: 'tanh' has no run configuration beside it that names fetches or targets; use "
            "--fetch or --target");
}

TEST(WorkloadTest, OrItIsTheWholeGraph) {
  std::vector<std::string> notes;
  WorkloadOptions options;
  options.unconfigured = Unconfigured::kWholeGraph;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  const Workload workload("tanh", Tanh(), {}, options);
  EXPECT_EQ(workload.spec().targets, std::vector<std::string>{"y"});
  EXPECT_EQ(workload.info().outputs(NodeId(1))[0].shape, (Shape{1, 3}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("note: ")) << notes[0];
}

// Law: what a file of the same tensor feeds is what the step is inferred with.
TEST(WorkloadTest, FilesReplaceFeeds) {
  const traces::ScratchFile file("x.npy");
  WriteNpy(Tensor::FromValues(Shape{2, 3}, std::vector<float>(6, 1.0f)), file.path());
  RunSpec spec;
  FeedSpec& feed = spec.feeds["x:0"];
  feed.shape = Shape{5, 3};
  feed.generator = "uniform";
  WorkloadOptions options;
  options.feeds = {"x=" + file.path()};
  options.fetches = {"y"};
  const Workload workload("tanh", Tanh(), spec, options);
  ASSERT_EQ(workload.spec().feeds.size(), 1u);
  EXPECT_EQ(workload.info().outputs(NodeId(1))[0].shape, (Shape{2, 3}));
  EXPECT_EQ(workload.InputInfos(NodeId(1))[0].shape, (Shape{2, 3}));
}

}  // namespace
}  // namespace lanescope::study
