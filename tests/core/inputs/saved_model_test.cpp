// SPDX-License-Identifier: Apache-2.0
// SavedModels and checkpoints as TensorFlow 2.15 has written them (samples/export/record_saved_models.py).
#include "core/inputs/saved_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/crc32c.h"
#include "core/base/file.h"
#include "core/inputs/tensor_bundle.h"
#include "tests/core/base/expect_error.h"
#include "tests/support/paths.h"

namespace lanescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string ModelPath(const std::string& name) {
  return test::SourceDir() + "/tests/golden/saved_models/" + name;
}

// A copy of a model whose files a test may damage.
std::string CopyOf(const std::string& name) {
  const fs::path copy = fs::path(testing::TempDir()) / ("damaged_" + name);
  fs::remove_all(copy);
  fs::copy(ModelPath(name), copy, fs::copy_options::recursive);
  return copy.string();
}

TEST(Crc32c, IsThatOfTheSpecification) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(MaskedCrc32c("123456789"), 0xC78AB0E5u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(TensorBundle, ReadsWhatTensorFlowHasSaved) {
  const TensorBundle bundle(ModelPath("version_1") + "/variables/variables");
  EXPECT_THAT(bundle.Names(), ElementsAre("n", "w"));
  EXPECT_EQ(*bundle.Read("n").data<int64_t>(), 9);
  const Tensor w = bundle.Read("w");
  EXPECT_EQ(w.shape(), (Shape{2, 3}));
  EXPECT_EQ(w.data<float>()[4], 5.0f);
  const TensorBundle module(ModelPath("module") + "/variables/variables");
  const Tensor objects = module.Read("_CHECKPOINTABLE_OBJECT_GRAPH");
  EXPECT_THAT(*objects.data<std::string>(), HasSubstr("steps/.ATTRIBUTES/VARIABLE_VALUE"));
  EXPECT_THAT(ErrorOf([&] { bundle.Read("gone"); }), HasSubstr("NotFound"));
  EXPECT_THAT(ErrorOf([] { TensorBundle("/nonexistent/variables"); }), HasSubstr("NotFound"));
}

// A change of any byte of a checkpoint is found, but for the footer's padding.
TEST(TensorBundle, DamageIsFound) {
  const std::string folder = CopyOf("version_1"), prefix = folder + "/variables/variables";
  const std::string index = ReadFile(prefix + ".index");
  const auto read_all = [&] {
    const TensorBundle bundle(prefix);
    for (const std::string& name : bundle.Names()) bundle.Read(name);
    return bundle.Names().size();
  };
  for (size_t i = 0; i + 48 < index.size(); ++i) {
    std::string damaged = index;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    WriteFile(prefix + ".index", damaged);
    EXPECT_NE(ErrorOf(read_all), "") << i;
  }
  for (size_t size = 0; size < index.size(); size += 7) {
    WriteFile(prefix + ".index", index.substr(0, size));
    EXPECT_THAT(ErrorOf(read_all), HasSubstr("DataLoss")) << size;
  }
  WriteFile(prefix + ".index", index);
  const std::string data_path = prefix + ".data-00000-of-00001", data = ReadFile(data_path);
  WriteFile(data_path, data.substr(0, 20));
  EXPECT_THAT(ErrorOf(read_all), HasSubstr("DataLoss"));
  std::string damaged = data;
  damaged[0] = static_cast<char>(damaged[0] + 1);
  WriteFile(data_path, damaged);
  EXPECT_THAT(ErrorOf(read_all), HasSubstr("their checksum is another one"));
  fs::remove(data_path);
  EXPECT_THAT(ErrorOf(read_all), HasSubstr("NotFound"));
}

TEST(SavedModels, TheSignatureSaysWhatAStepIs) {
  EXPECT_TRUE(IsSavedModel(ModelPath("module")));
  EXPECT_FALSE(IsSavedModel(ModelPath("module") + "/variables"));
  const SavedModel model = ReadSavedModel(ModelPath("module"));
  ASSERT_EQ(model.spec.feeds.size(), 1u);
  const auto& [name, feed] = *model.spec.feeds.begin();
  EXPECT_EQ(name, "serving_default_x:0");
  EXPECT_EQ(feed.shape, (Shape{1, 2}));
  EXPECT_EQ(model.spec.fetches.size(), 2u);
  EXPECT_FALSE(model.spec.init.empty());
  EXPECT_THAT(ErrorOf([] { ReadSavedModel(ModelPath("module"), "gone"); }),
              HasSubstr("has no signature 'gone'"));
}

// A schema version, and a meta graph with the tag "serve" alone.
TEST(SavedModels, OneWithoutSignaturesSaysSo) {
  const std::string folder = testing::TempDir() + "lanescope_no_signatures";
  fs::create_directories(folder);
  WriteFile(folder + "/saved_model.pb", "\x08\x01\x12\x09\x0a\x07\x22\x05serve");
  EXPECT_THAT(ErrorOf([&] { ReadSavedModel(folder); }),
              HasSubstr("has no signatures; save it with one, `tf.saved_model.save("));
  fs::remove_all(folder);
}

TEST(SavedModels, FeedsAndFetchesAreKnownByTheSignaturesNames) {
  const SavedModel model = ReadSavedModel(ModelPath("module"));
  EXPECT_EQ(GraphTensorOf(model.spec, "x"), "serving_default_x:0");
  EXPECT_EQ(GraphTensorOf(model.spec, "y"), model.spec.fetches[1]);
  EXPECT_THAT(model.notes,
              ElementsAre(testing::Pair("serving_default_x:0", "'x' of shape [?,2] is taken as [1,2]")));
}

// Keras 3 saves copies of its variables; those that the step reads get their values by their names.
TEST(SavedModels, VariablesThatTheRestoringNodeLeavesOutAreRestored) {
  const SavedModel model = ReadSavedModel(ModelPath("keras"));
  const Node& assign = model.graph.node(model.graph.FindNode("sequential/dense/bias/restored"));
  EXPECT_EQ(assign.op, "AssignVariableOp");
  EXPECT_EQ(model.graph.node(assign.inputs[0].node).name, "sequential/dense/bias");
  const Tensor& value = model.graph.node(assign.inputs[1].node).GetTensorAttr("value");
  ASSERT_EQ(value.shape(), Shape{4});
  EXPECT_EQ(value.data<float>()[1], -1.0f);
  EXPECT_THAT(model.spec.init, testing::Contains(assign.name));
}

// One whose variables are all restored has no other assignments.
TEST(SavedModels, VariablesThatAreRestoredAreLeftAlone) {
  const SavedModel model = ReadSavedModel(ModelPath("module"));
  for (const std::string& node : model.spec.init) EXPECT_FALSE(node.ends_with("/restored")) << node;
}

TEST(SavedModels, DamagedOnesAreRefused) {
  const std::string folder = CopyOf("module");
  const std::string bytes = ReadFile(folder + "/saved_model.pb");
  WriteFile(folder + "/saved_model.pb", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(ErrorOf([&] { ReadSavedModel(folder); }), HasSubstr("InvalidArgument"));
  WriteFile(folder + "/saved_model.pb", "");
  EXPECT_THAT(ErrorOf([&] { ReadSavedModel(folder); }), HasSubstr("has 0 graphs"));
}

}  // namespace
}  // namespace lanescope
