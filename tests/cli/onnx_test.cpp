// SPDX-License-Identifier: Apache-2.0
// Models as PyTorch exports them to ONNX, run by the program: what onnxruntime computes of them is recorded
// (samples/export/record_onnx.py).
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/inputs/run_spec.h"
#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using testing::HasSubstr;

std::string Recorded(const std::string& name) {
  return lanescope::test::SourceDir() + "/tests/golden/onnx/" + name;
}

struct Exported {
  std::string name;
  std::vector<std::string> inputs, outputs;
};

class ExportedModels : public testing::TestWithParam<Exported> {
 protected:
  // Runs `graph` on the recorded inputs. Law: all outputs are onnxruntime's, but for what another order of
  // additions makes of floats.
  void ExpectRecordedOutputs(const std::string& graph) {
    const Folder folder;
    std::vector<std::string> words{"run",      graph, "--steps",        "1",
                                   "--warmup", "0",   "--save-fetches", folder.File("made")};
    for (const std::string& input : GetParam().inputs) {
      words.push_back("--feed");
      words.push_back(input + "=" + Recorded(GetParam().name + "." + input + ".npy"));
    }
    const Outcome outcome = Lanescope(words);
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    for (const std::string& output : GetParam().outputs) {
      const Tensor made = ReadNpy(folder.File("made/step000000_" + output + ".npy"));
      const Tensor recorded = ReadNpy(Recorded(GetParam().name + "." + output + ".npy"));
      ASSERT_EQ(made.shape(), recorded.shape()) << output;
      for (int64_t i = 0; i < made.NumElements(); ++i)
        ASSERT_NEAR(made.data<float>()[i], recorded.data<float>()[i], 2e-5) << output << " " << i;
    }
  }
};

TEST_P(ExportedModels, ComputeWhatOnnxruntimeComputes) {
  ExpectRecordedOutputs(Recorded(GetParam().name + ".onnx"));
}

TEST_P(ExportedModels, AreTheSameAsGraphFiles) {
  const Folder folder;
  const std::string graph = folder.File("model.pb");
  const Outcome outcome = Lanescope({"import", Recorded(GetParam().name + ".onnx"), "-o", graph});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("nodes, 0 of them known by their cost alone"));
  ExpectRecordedOutputs(graph);
  // Its run configuration is whole: the step can be run and compared as it is.
  EXPECT_EQ(Lanescope({"run", graph, "--steps", "1"}).status, 0);
}

INSTANTIATE_TEST_SUITE_P(, ExportedModels,
                         testing::Values(Exported{"resnet_dynamo", {"images"}, {"logits"}},
                                         Exported{"resnet_script", {"images"}, {"logits"}},
                                         Exported{"bert_dynamo", {"ids", "mask"}, {"hidden", "pooled"}},
                                         Exported{"bert_script", {"ids", "mask"}, {"hidden", "pooled"}},
                                         Exported{"gpt2_dynamo", {"ids"}, {"logits"}}),
                         [](const auto& test) { return test.param.name; });

std::vector<std::string> RecordedOps() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(Recorded("../onnx_ops")))
    names.push_back(file.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class SingleOps : public testing::TestWithParam<std::string> {};

// Law: each model says how far its result is from onnxruntime's, recorded in it by
// samples/export/record_onnx_ops.py: no further than another order of additions makes it.
TEST_P(SingleOps, ComputeWhatOnnxruntimeComputes) {
  const Outcome outcome = Lanescope(
      {"run", Recorded("../onnx_ops/" + GetParam() + ".onnx"), "--steps", "1", "--warmup", "0", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  const nlohmann::json fetches = nlohmann::json::parse(outcome.output)["fetches"];
  ASSERT_EQ(fetches.size(), 1u);
  EXPECT_EQ(fetches[0]["name"], "error");
  ASSERT_TRUE(fetches[0]["values"][0].is_number());
  EXPECT_LT(fetches[0]["values"][0].get<double>(), 2e-5);
}

INSTANTIATE_TEST_SUITE_P(, SingleOps, testing::ValuesIn(RecordedOps()),
                         [](const auto& test) { return test.param; });

// Law: names that no node may have are the model's to users: feeds, fetches and results.
TEST(OnnxModels, KeepTheirNames) {
  const Folder folder;
  const std::string model = Recorded("../onnx_names/colons.onnx");
  Tensor fed(DataType::kFloat, Shape{3, 2});
  for (int i = 0; i < 6; ++i) fed.data<float>()[i] = static_cast<float>(i) - 2.5f;
  WriteNpy(fed, folder.File("x.npy"));
  const Outcome outcome = Lanescope({"run", model, "--steps", "1", "--warmup", "0", "--json", "--feed",
                                     "input_1:0=" + folder.File("x.npy"), "--fetch", "Identity:0"});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  const nlohmann::json fetches = nlohmann::json::parse(outcome.output)["fetches"];
  EXPECT_EQ(fetches[0]["name"], "Identity:0");
  EXPECT_EQ(fetches[0]["values"], nlohmann::json::parse("[0.0, 0.0, 0.0, 0.5, 1.5, 2.5]"));
}

TEST(OnnxModels, SizesThatAreLeftOpenAreSaid) {
  const Outcome open = Lanescope({"simulate", Recorded("../onnx_names/colons.onnx")});
  EXPECT_EQ(open.status, 0) << open.errors;
  EXPECT_THAT(open.errors, HasSubstr("note: 'input_1:0' of shape [?,2] is taken as [1,2]"));
}

// Floats of 16 bits go in and out as they are: 0.5 and -2 are exact, and so are their doubles.
TEST(OnnxModels, HalvesAreFedAndFetched) {
  const Folder folder;
  Tensor fed(DataType::kHalf, Shape{2});
  static_cast<uint16_t*>(fed.raw_data())[0] = 0x3800;
  static_cast<uint16_t*>(fed.raw_data())[1] = 0xC000;
  WriteNpy(fed, folder.File("x.npy"));
  const std::string model = Recorded("../onnx_names/halves.onnx");
  const Outcome outcome = Lanescope({"run", model, "--steps", "1", "--warmup", "0", "--json", "--feed",
                                     "x=" + folder.File("x.npy"), "--save-fetches", folder.File("made")});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  const nlohmann::json fetches = nlohmann::json::parse(outcome.output)["fetches"];
  EXPECT_EQ(fetches[0]["dtype"], "float16");
  EXPECT_EQ(fetches[0]["values"], nlohmann::json::parse("[1.0, -4.0]"));
  const Tensor made = ReadNpy(folder.File("made/step000000_y.npy"));
  ASSERT_EQ(made.dtype(), DataType::kHalf);
  EXPECT_EQ(static_cast<const uint16_t*>(made.raw_data())[1], 0xC400);
  EXPECT_EQ(Lanescope({"run", model, "--steps", "1"}).status, 0);  // made numbers too
}

TEST(OnnxModels, ArePlacedSimulatedAndCompared) {
  const std::string model = Recorded("gpt2_dynamo.onnx");
  EXPECT_EQ(Lanescope({"place", model, "--machine", SampleMachine("k80x2")}).status, 0);
  EXPECT_EQ(Lanescope({"simulate", model, "--machine", SampleMachine("k80x2")}).status, 0);
  EXPECT_EQ(Lanescope({"compare", model + ":single,alternating", "--no-run"}).status, 0);
}

TEST(OnnxModels, DamagedOnesAreRefusedInOneLine) {
  const Folder folder;
  const std::string whole = ReadText(Recorded("resnet_script.onnx"));
  ExpectError(Lanescope({"run", folder.Write("cut.onnx", whole.substr(0, whole.size() / 2))}), 1,
              "InvalidArgument", "cut.onnx");
  ExpectError(Lanescope({"place", folder.File("missing.onnx")}), 1, "NotFound", "missing.onnx");
  ExpectError(Lanescope({"import", Recorded("bert_dynamo.onnx"), Recorded("gpt2_dynamo.onnx")}), 1,
              "InvalidArgument", "by itself");
}

}  // namespace
}  // namespace lanescope::cli
