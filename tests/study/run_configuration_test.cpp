// SPDX-License-Identifier: Apache-2.0
// A run configuration goes with a graph that is saved elsewhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/base/file.h"
#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "study/workload/workload.h"

namespace lanescope::study {
namespace {

// Input: a graph whose feed is a file of its folder. Law: saved in another folder it has that file beside it,
// and can be read there; a file that is there already stays.
TEST(RunConfigurationTest, FilesOfFeedsGoWithTheGraph) {
  namespace fs = std::filesystem;
  const std::string folder = testing::TempDir() + "/run_configuration";
  fs::remove_all(folder);
  for (const char* name : {"from/data", "to", "kept/data"}) fs::create_directories(folder + "/" + name);
  GraphBuilder builder;
  builder.Op("Identity", "y").Input(builder.Placeholder("x", DataType::kFloat, Shape{2})).Build();
  WriteGraph(builder.graph(), folder + "/from/g.pb");
  Tensor values(DataType::kFloat, Shape{2});
  values.data<float>()[0] = 3;
  values.data<float>()[1] = 4;
  WriteNpy(values, folder + "/from/data/x.npy");
  WriteFile(folder + "/from/g.run.json", R"({"feeds": {"x": {"file": "data/x.npy"}}, "fetches": ["y"]})");
  WriteFile(folder + "/kept/data/x.npy", "mine");
  const Workload workload(folder + "/from/g.pb", {});
  for (const char* name : {"to", "kept"}) {
    WriteGraph(builder.graph(), folder + "/" + name + "/g.pb");
    CopyRunConfiguration(workload, folder + "/" + name + "/g.pb");
  }
  EXPECT_EQ(ReadFile(folder + "/to/data/x.npy"), ReadFile(folder + "/from/data/x.npy"));
  EXPECT_EQ(Workload(folder + "/to/g.pb", {}).spec().feeds.at("x").values.data<float>()[1], 4);
  EXPECT_EQ(ReadFile(folder + "/kept/data/x.npy"), "mine");
}

}  // namespace
}  // namespace lanescope::study
