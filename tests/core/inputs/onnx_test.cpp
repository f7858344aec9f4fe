// ONNX models written by hand, field by field: what becomes of their nodes, and what is refused.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/graph/op.h"
#include "core/inputs/onnx_model.h"
#include "core/inputs/step_request.h"
#include "tests/support/paths.h"

namespace lanescope {
namespace {

using testing::HasSubstr;

std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}
// A field of protobuf's wire format: a text or message, and an integer.
std::string Field(int number, const std::string& bytes) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(bytes.size()) + bytes;
}
std::string Field(int number, int64_t value) {
  return Varint(static_cast<uint64_t>(number) << 3) + Varint(static_cast<uint64_t>(value));
}

constexpr int kFloats = 1, kInt64s = 7, kComplex = 14;

std::string ValueInfo(const std::string& name, int type, const std::vector<int64_t>& sizes) {
  std::string shape;
  for (const int64_t size : sizes) shape += Field(1, size < 0 ? Field(2, std::string("n")) : Field(1, size));
  return Field(1, name) + Field(2, Field(1, Field(1, static_cast<int64_t>(type)) + Field(2, shape)));
}

std::string Weight(const std::string& name, int type, const std::vector<int64_t>& sizes,
                   const std::string& rest) {
  std::string tensor;
  for (const int64_t size : sizes) tensor += Field(1, size);
  return tensor + Field(2, static_cast<int64_t>(type)) + Field(8, name) + rest;
}

std::string NodeOf(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, const std::string& rest = "") {
  std::string node = Field(4, op) + rest;
  for (const std::string& input : inputs) node += Field(1, input);
  for (const std::string& output : outputs) node += Field(2, output);
  return node;
}

struct Parts {
  std::vector<std::string> nodes, weights, inputs, outputs, infos;
  int64_t opset = 18;
};

std::string ModelOf(const Parts& parts) {
  std::string graph;
  for (const std::string& node : parts.nodes) graph += Field(1, node);
  for (const std::string& weight : parts.weights) graph += Field(5, weight);
  for (const std::string& input : parts.inputs) graph += Field(11, input);
  for (const std::string& output : parts.outputs) graph += Field(12, output);
  for (const std::string& info : parts.infos) graph += Field(13, info);
  return Field(7, graph) + Field(8, Field(2, parts.opset));
}

// x -> op -> y, with two floats each.
Parts OneNode(const std::string& op, const std::string& rest = "") {
  return {{NodeOf(op, {"x"}, {"y"}, rest)},
          {},
          {ValueInfo("x", kFloats, {-1, 2})},
          {ValueInfo("y", kFloats, {1, 2})},
          {}};
}

void ExpectRefused(const Parts& parts, Code code, const std::string& text) {
  try {
    ParseOnnxModel(ModelOf(parts), "");
    ADD_FAILURE() << "not refused: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    EXPECT_THAT(error.message(), HasSubstr(text));
  }
}

TEST(Onnx, InputsAreFedAndOutputsFetchedByTheirNames) {
  const OnnxModel model = ParseOnnxModel(ModelOf(OneNode("Relu")), "");
  ASSERT_EQ(model.spec.feeds.size(), 1u);
  EXPECT_EQ(model.spec.feeds.at("x").shape, (Shape{1, 2}));  // an open size is 1
  EXPECT_EQ(model.spec.feeds.at("x").generator, "uniform");
  EXPECT_EQ(model.spec.fetches, std::vector<std::string>{"y"});
  EXPECT_EQ(model.graph.node(model.graph.FindNode("y_1")).op, "Relu");
}

// Law: what is not known is an op with the model's shapes and a cost: here one operation for each of two
// elements, and sixteen bytes.
TEST(Onnx, UnknownOpsHaveACost) {
  Parts parts = OneNode("Frobnicate");
  const OnnxModel model = ParseOnnxModel(ModelOf(parts), "");
  const Node& node = model.graph.node(model.graph.FindNode("y_1"));
  EXPECT_EQ(node.op, "OnnxFrobnicate");
  const CompileRequest request = StepRequestOf(model.graph, model.spec);
  const GraphInfo info = InferGraph(model.graph, request.feeds);
  const TensorInfo& y = info.of({model.graph.FindNode("y_1"), 0});
  EXPECT_EQ(y.shape, (Shape{1, 2}));
  const std::vector<TensorInfo> inputs{info.of(node.inputs[0])};
  EXPECT_EQ(WorkOf(node, inputs, std::vector{y}).flops, 2);
  EXPECT_EQ(WorkOf(node, inputs, std::vector{y}).bytes, 16);
}

TEST(Onnx, OpsOfOtherDomainsAreNotOnnxs) {
  const OnnxModel model = ParseOnnxModel(ModelOf(OneNode("Relu", Field(7, std::string("com.example")))), "");
  EXPECT_EQ(model.graph.node(model.graph.FindNode("y_1")).op, "OnnxRelu");
}

// Shapes that a model computes from shapes are numbers here.
TEST(Onnx, ShapeArithmeticIsFolded) {
  Parts parts;
  parts.inputs = {ValueInfo("x", kFloats, {2, 3, 4})};
  parts.weights = {Weight("one", kInt64s, {1}, Field(7, Varint(1))),
                   Weight("rest", kInt64s, {1}, Field(7, Varint(UINT64_MAX)))};
  parts.nodes = {
      NodeOf("Shape", {"x"}, {"s"}), NodeOf("Gather", {"s", "one"}, {"d"}),
      NodeOf("Concat", {"d", "rest"}, {"t"},
             Field(5, Field(1, std::string("axis")) + Field(3, int64_t{0}) + Field(20, int64_t{2}))),
      NodeOf("Reshape", {"x", "t"}, {"y"})};
  parts.outputs = {ValueInfo("y", kFloats, {3, 8})};
  const OnnxModel model = ParseOnnxModel(ModelOf(parts), "");
  EXPECT_EQ(model.graph.num_nodes(), 4u);  // input, sizes, Reshape, output
  const GraphInfo info = InferGraph(model.graph, StepRequestOf(model.graph, model.spec).feeds);
  EXPECT_EQ(info.of(model.graph.FindEndpoint("y")).shape, (Shape{3, 8}));
}

TEST(Onnx, DamagedModelsAreRefused) {
  ExpectRefused({}, Code::kInvalidArgument, "no ONNX model");
  Parts parts = OneNode("Relu");
  parts.outputs.clear();
  ExpectRefused(parts, Code::kInvalidArgument, "no output");
  parts = OneNode("Relu");
  parts.nodes = {NodeOf("Relu", {"z"}, {"y"})};
  ExpectRefused(parts, Code::kInvalidArgument, "reads 'z', which nothing before it makes");
  parts.nodes = {NodeOf("Relu", {"x"}, {"y"}), NodeOf("Relu", {"x"}, {"y"})};
  ExpectRefused(parts, Code::kInvalidArgument, "makes 'y', which is there already");
  parts.nodes = {NodeOf("Add", {"x", "w"}, {"y"})};
  parts.weights = {Weight("w", kFloats, {3}, Field(9, std::string(8, '\0')))};
  ExpectRefused(parts, Code::kInvalidArgument, "the tensor 'w' has 8 bytes for 3 elements");
  parts.weights = {Weight("w", kFloats, {int64_t{1} << 40, int64_t{1} << 20}, "")};
  ExpectRefused(parts, Code::kInvalidArgument, "the tensor 'w'");
  parts.weights = {Weight("w", kFloats, {3}, Field(9, std::string(12, '\0')))};
  ExpectRefused(parts, Code::kInvalidArgument, "the Add 'y'");  // two floats and three
  parts = OneNode("Relu");
  parts.inputs = {ValueInfo("x", kComplex, {2})};
  ExpectRefused(parts, Code::kUnimplemented, "the input 'x'");
}

TEST(Onnx, OpsAreThoseOfTheDocument) {
  const std::string document = ReadFile(lanescope::test::SourceDir() + "/docs/onnx.md");
  std::string list;
  for (const std::string& op : OnnxOps()) list += "`" + op + "` ";
  std::string listed = document.substr(document.find("The ops:\n\n") + 10);
  std::ranges::replace(listed, '\n', ' ');
  EXPECT_EQ(listed, list);
}

class Weights : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "lanescope-onnx-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/w.bin", std::ios::binary)
        << std::string(4, 'x') + std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  OnnxModel Read(const std::string& location, const std::string& offset) {
    Parts parts = OneNode("Relu");
    parts.nodes = {NodeOf("Add", {"x", "w"}, {"y"})};
    const auto entry = [](const std::string& key, const std::string& value) {
      return Field(13, Field(1, key) + Field(2, value));
    };
    parts.weights = {Weight("w", kFloats, {2},
                            entry("location", location) + entry("offset", offset) + Field(14, int64_t{1}))};
    return ParseOnnxModel(ModelOf(parts), folder_);
  }
  std::string folder_;
};

TEST_F(Weights, LieInAFileBesideTheModel) {
  const OnnxModel model = Read("w.bin", "4");
  const Tensor& w = model.graph.node(model.graph.FindNode("w")).GetTensorAttr("value");
  EXPECT_EQ(w.data<float>()[0], 1.0f);
  EXPECT_EQ(w.data<float>()[1], 2.0f);
}

TEST_F(Weights, LieNowhereElse) {
  for (const std::string location : {"../w.bin", "/etc/passwd", "", "a/../../w.bin"})
    EXPECT_THROW(Read(location, "4"), Error) << location;
  EXPECT_THROW(Read("w.bin", "5"), Error);
  EXPECT_THROW(Read("w.bin", "-4"), Error);
  EXPECT_THROW(Read("w.bin", "99999999999999999999"), Error);
  EXPECT_THROW(Read("none.bin", "0"), Error);
}

// Law: where a link leads counts, not where it lies: one to a file of the folder is read, one out of it is
// not.
TEST_F(Weights, FollowNoLinkOutOfTheFolder) {
  namespace fs = std::filesystem;
  const std::string outside = folder_ + "-outside.bin";
  fs::copy_file(folder_ + "/w.bin", outside);
  fs::create_symlink(outside, folder_ + "/out.bin");
  fs::create_directory_symlink(fs::path(folder_).parent_path(), folder_ + "/up");
  fs::create_symlink("w.bin", folder_ + "/in.bin");
  for (const std::string& location :
       {std::string("out.bin"), "up/" + fs::path(outside).filename().string()}) {
    try {
      Read(location, "4");
      ADD_FAILURE() << location;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_THAT(error.message(), HasSubstr("leads out of the model's folder"));
    }
  }
  const OnnxModel model = Read("in.bin", "4");
  EXPECT_EQ(model.graph.node(model.graph.FindNode("w")).GetTensorAttr("value").data<float>()[1], 2.0f);
  fs::remove(outside);
}

}  // namespace
}  // namespace lanescope
