// SPDX-License-Identifier: Apache-2.0
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

constexpr int kFloats = 1, kInt64s = 7, kBools = 9, kComplex = 14;

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
  // Known when the model is read, and named so all the same.
  EXPECT_EQ(ParseOnnxModel(ModelOf(OneNode("Shape")), "").spec.fetches, std::vector<std::string>{"y"});
}

// Law: of an op that nobody knows the work is not known either; its shapes are the model's.
TEST(Onnx, UnknownOpsAreUnknownWork) {
  const OnnxModel model = ParseOnnxModel(ModelOf(OneNode("Frobnicate")), "");
  const Node& node = model.graph.node(model.graph.FindNode("y_1"));
  EXPECT_EQ(node.op, "OnnxFrobnicate");
  EXPECT_EQ(node.FindAttr("_lanescope_cost"), nullptr);
  const GraphInfo info = InferGraph(model.graph, StepRequestOf(model.graph, model.spec).feeds);
  EXPECT_EQ(info.of({model.graph.FindNode("y_1"), 0}).shape, (Shape{1, 2}));
}

OpWork WorkOfNode(const OnnxModel& model, const std::string& name) {
  const NodeId id = model.graph.FindNode(name);
  const GraphInfo info = InferGraph(model.graph, StepRequestOf(model.graph, model.spec).feeds);
  std::vector<TensorInfo> inputs;
  for (const Endpoint& input : model.graph.node(id).inputs) inputs.push_back(info.of(input));
  return WorkOf(model.graph.node(id), inputs, info.outputs(id));
}

// Law: what is known by its cost alone costs what its definition says. Gates that are coupled have
// no kernel here: the batch first, 3 examples of 2 steps, W [1, 16, 5] and R [1, 16, 4], two operations for
// each weight and example.
TEST(Onnx, OpsWithoutAKernelCostWhatTheirDefinitionSays) {
  Parts parts;
  parts.inputs = {ValueInfo("x", kFloats, {3, 2, 5}), ValueInfo("w", kFloats, {1, 16, 5}),
                  ValueInfo("r", kFloats, {1, 16, 4})};
  parts.nodes = {NodeOf(
      "LSTM", {"x", "w", "r"}, {"y"},
      Field(5, Field(1, std::string("layout")) + Field(3, int64_t{1}) + Field(20, int64_t{2})) +
          Field(5, Field(1, std::string("input_forget")) + Field(3, int64_t{1}) + Field(20, int64_t{2})))};
  parts.outputs = {ValueInfo("y", kFloats, {3, 2, 1, 4})};
  const OnnxModel lstm = ParseOnnxModel(ModelOf(parts), "");
  EXPECT_EQ(lstm.graph.node(lstm.graph.FindNode("y_1")).op, "OnnxLSTM");
  EXPECT_EQ(WorkOfNode(lstm, "y_1").flops, 2 * 2 * 3 * (16 * 5 + 16 * 4));
  // [1, 4, 4, 8] by 6 filters of 3 * 3 * 8.
  parts.inputs = {ValueInfo("x", kFloats, {1, 4, 4, 8}), ValueInfo("w", kFloats, {6, 3, 3, 8})};
  parts.nodes = {NodeOf("NhwcFusedConv", {"x", "w"}, {"y"}, Field(7, std::string("com.microsoft")))};
  parts.outputs = {ValueInfo("y", kFloats, {1, 4, 4, 6})};
  const OnnxModel conv = ParseOnnxModel(ModelOf(parts), "");
  EXPECT_EQ(WorkOfNode(conv, "y_1").flops, 2 * (4 * 4 * 6) * (3 * 3 * 8));
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

std::string NamedInfo(const std::string& name, const std::vector<std::string>& sizes) {
  std::string shape;
  for (const std::string& size : sizes) shape += Field(1, Field(2, size));
  return Field(1, name) + Field(2, Field(1, Field(1, int64_t{kFloats}) + Field(2, shape)));
}

// Law: a size that is computed from names follows from them, and a name from what is known of a sum.
TEST(Onnx, SizesThatAreComputedFollowFromTheOthers) {
  Parts parts;
  parts.inputs = {NamedInfo("ids", {"batch", "seq"}), NamedInfo("past", {"batch", "past_len"}),
                  NamedInfo("mask", {"batch", "past_len + seq"}), NamedInfo("twice", {"2*(seq + 1) - 1"})};
  parts.nodes = {NodeOf("Relu", {"mask"}, {"y"}), NodeOf("Relu", {"ids"}, {"z"}),
                 NodeOf("Relu", {"past"}, {"p"}), NodeOf("Relu", {"twice"}, {"t"})};
  for (const char* name : {"y", "z", "p", "t"}) parts.outputs.push_back(NamedInfo(name, {"a"}));
  const auto sizes = [&](const std::map<std::string, Shape>& given) {
    const OnnxModel model = ParseOnnxModel(ModelOf(parts), "", given);
    std::string text;
    for (const char* name : {"ids", "past", "mask", "twice"})
      text += model.spec.feeds.at(name).shape.ToString();
    return text;
  };
  EXPECT_EQ(sizes({}), "[1,1][1,1][1,2][3]");
  EXPECT_EQ(sizes({{"ids", Shape{4, 5}}, {"past", Shape{4, 7}}}), "[4,5][4,7][4,12][11]");
  EXPECT_EQ(sizes({{"mask", Shape{4, 12}}, {"ids", Shape{4, 5}}}), "[4,5][4,7][4,12][11]");
  EXPECT_EQ(sizes({{"twice", Shape{9}}}), "[1,4][1,1][1,5][9]");
  EXPECT_THAT(ParseOnnxModel(ModelOf(parts), "").notes,
              testing::Contains("'mask' of shape [?,?] is taken as [1,2]"));
}

TEST(Onnx, TextsThatAreNoSumsAreNames) {
  const std::vector<std::string> texts{"a b", "(", "a +", "1 / 0", "9999999999999", std::string(300, '('),
                                       "-n",  ""};
  for (const std::string& text : texts) {
    Parts parts = OneNode("Relu");
    parts.inputs = {NamedInfo("x", {text, text})};
    EXPECT_EQ(ParseOnnxModel(ModelOf(parts), "").spec.feeds.at("x").shape, (Shape{1, 1})) << text;
  }
}

TEST(Onnx, NamesThatNoNodeMayHaveAreKept) {
  Parts parts = OneNode("Relu");
  parts.inputs = {ValueInfo("input_1:0", kFloats, {2})};
  parts.nodes = {NodeOf("Relu", {"input_1:0"}, {"Identity:0"})};
  parts.outputs = {ValueInfo("Identity:0", kFloats, {2})};
  const OnnxModel model = ParseOnnxModel(ModelOf(parts), "");
  EXPECT_EQ(GraphTensorOf(model.spec, "input_1:0"), "input_1_0");
  EXPECT_TRUE(model.spec.feeds.contains("input_1_0"));
  EXPECT_EQ(GraphTensorOf(model.spec, "Identity:0"), model.spec.fetches[0]);
  EXPECT_THAT(FetchTitles(model.spec), testing::ElementsAre("Identity:0"));
}

// A loop of `trips` products: its body goes on as the loop does.
Parts LoopOf(int64_t trips) {
  std::string body =
      Field(1, NodeOf("MatMul", {"h", "w"}, {"h2"})) + Field(1, NodeOf("Identity", {"c"}, {"c2"}));
  const std::vector<std::pair<std::string, int>> given{{"i", kInt64s}, {"c", kBools}, {"h", kFloats}};
  for (const auto& [name, type] : given) body += Field(11, ValueInfo(name, type, {}));
  for (const char* name : {"c2", "h2"}) body += Field(12, Field(1, std::string(name)));
  Parts parts;
  parts.inputs = {ValueInfo("x", kFloats, {4, 4}), ValueInfo("w", kFloats, {4, 4})};
  parts.weights = {Weight("n", kInt64s, {}, Field(7, Varint(static_cast<uint64_t>(trips))))};
  parts.nodes = {NodeOf("Loop", {"n", "", "x"}, {"y"},
                        Field(5, Field(1, std::string("body")) + Field(6, body) + Field(20, int64_t{5})))};
  parts.outputs = {ValueInfo("y", kFloats, {4, 4})};
  return parts;
}

// Law: a loop whose trips are known is its body that often; one too long to be written out costs that.
TEST(Onnx, LoopsAreTheirBodyAsOftenAsItRuns) {
  const OnnxModel model = ParseOnnxModel(ModelOf(LoopOf(3)), "");
  EXPECT_EQ(std::ranges::count(model.graph.nodes(), "MatMul", &Node::op), 3);
  const OnnxModel large = ParseOnnxModel(ModelOf(LoopOf(1'000'000)), "");
  EXPECT_EQ(large.graph.node(large.graph.FindNode("y_1")).op, "OnnxLoop");
  EXPECT_EQ(WorkOfNode(large, "y_1").flops, 1'000'000 * 2 * 4 * 4 * 4);
  const auto& inputs = large.graph.node(large.graph.FindNode("y_1")).inputs;
  EXPECT_TRUE(std::ranges::any_of(
      inputs, [&](const Endpoint& input) { return large.graph.node(input.node).name == "w"; }));
}

std::string FunctionOf(const std::string& name, const std::string& node) {
  return Field(1, name) + Field(4, std::string("a")) + Field(5, std::string("b")) + Field(7, node) +
         Field(10, std::string("local"));
}

TEST(Onnx, FunctionsAreTheirNodes) {
  const std::string local = Field(7, std::string("local"));
  const std::string model = ModelOf(OneNode("Twice", local));
  const std::string twice = Field(25, FunctionOf("Twice", NodeOf("Add", {"a", "a"}, {"b"})));
  const OnnxModel read = ParseOnnxModel(model + twice, "");
  EXPECT_EQ(read.graph.node(read.graph.FindNode("y/b")).op, "AddV2");
  const std::string endless = Field(25, FunctionOf("Twice", NodeOf("Twice", {"a"}, {"b"}, local)));
  try {
    ParseOnnxModel(model + endless, "");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_THAT(error.message(), HasSubstr("more than 32 deep"));
  }
}

// Two elements a byte, the first in the low bits; 0x0F and 0x71 are -1, 0, 1, 7.
TEST(Onnx, ElementsOfFourBitsAreRead) {
  constexpr int kInt4s = 22, kFloat8s = 17;
  Parts parts = OneNode("Relu");
  parts.nodes = {NodeOf("DequantizeLinear", {"q", "s"}, {"d"}), NodeOf("Add", {"x", "d"}, {"y"})};
  parts.inputs = {ValueInfo("x", kFloats, {4})};
  parts.weights = {Weight("q", kInt4s, {4}, Field(9, std::string("\x0F\x71"))),
                   Weight("s", kFloats, {}, Field(9, std::string("\0\0\x80\x3f", 4)))};
  const OnnxModel model = ParseOnnxModel(ModelOf(parts), "");
  const Tensor& q = model.graph.node(model.graph.FindNode("q")).GetTensorAttr("value");
  ASSERT_EQ(q.dtype(), DataType::kInt8);
  const std::vector<int64_t> expected{-1, 0, 1, 7};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(q.IntAt(i), expected[static_cast<size_t>(i)]);
  parts.weights[0] = Weight("q", kInt4s, {4}, Field(9, std::string("\x0F")));
  ExpectRefused(parts, Code::kInvalidArgument, "has 1 bytes for 4 elements of 4 bits");
  parts.weights[0] = Weight("q", kFloat8s, {4}, Field(9, std::string("\x38\x40\0\x7e", 4)));
  const OnnxModel floats = ParseOnnxModel(ModelOf(parts), "");
  EXPECT_EQ(floats.graph.node(floats.graph.FindNode("q")).GetTensorAttr("value").dtype(), DataType::kUint8);
  EXPECT_EQ(std::ranges::count(floats.graph.nodes(), "GatherV2", &Node::op), 1);  // of the numbers by code
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
  ExpectRefused(parts, Code::kInvalidArgument, "uses the tensor 'w', which has 8 bytes for 3 elements");
  parts.weights = {Weight("w", kFloats, {int64_t{1} << 40, int64_t{1} << 20}, "")};
  ExpectRefused(parts, Code::kInvalidArgument, "the tensor 'w'");
  parts.weights = {Weight("w", kFloats, {3}, Field(9, std::string(12, '\0')))};
  ExpectRefused(parts, Code::kInvalidArgument, "the Add 'y'");  // two floats and three
  parts = OneNode("Relu");
  parts.inputs = {ValueInfo("x", kComplex, {2})};
  ExpectRefused(parts, Code::kUnimplemented, "the input 'x'");
}

// A list is nothing that a graph has.
TEST(Onnx, SequencesThatAreNotKnownAreRefused) {
  Parts parts = OneNode("Relu");
  parts.inputs.push_back(ValueInfo("p", kInt64s, {}));
  const std::string both = NodeOf("SequenceConstruct", {"x", "x"}, {"s"});
  parts.nodes = {both, NodeOf("SequenceAt", {"s", "p"}, {"y"})};
  ExpectRefused(parts, Code::kUnimplemented, "the SequenceAt 'y' has a position that depends on data");
  parts.nodes = {both, NodeOf("Relu", {"s"}, {"y"})};
  ExpectRefused(parts, Code::kUnimplemented, "the Relu 'y' takes a sequence of tensors");
  parts.nodes = {NodeOf("SequenceConstruct", {"x", "x"}, {"y"})};
  ExpectRefused(parts, Code::kUnimplemented, "the output 'y' is a sequence of tensors");
  parts.nodes = {NodeOf("SequenceLength", {"x"}, {"y"})};
  ExpectRefused(parts, Code::kInvalidArgument, "takes a tensor where a sequence belongs");
}

TEST(Onnx, OpsAreThoseOfTheDocument) {
  const std::string document = ReadFile(lanescope::test::SourceDir() + "/docs/reference/onnx.md");
  std::string list;
  for (const std::string& op : OnnxOps()) list += "`" + op + "` ";
  std::string listed = document.substr(document.find("The ops:\n\n") + 10);
  listed = listed.substr(0, listed.find("\n\n"));
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
