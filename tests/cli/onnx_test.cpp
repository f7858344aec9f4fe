// Models as PyTorch exports them to ONNX, run by the program: what onnxruntime computes of them is recorded
// (samples/export/record_onnx.py).
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

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
