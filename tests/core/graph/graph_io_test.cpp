// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/file.h"
#include "tests/core/base/expect_error.h"
#include "tests/support/paths.h"

namespace lanescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Ops that no registry knows, so that only the reading of files is under test.
std::string NodeText(const std::string& name, const std::string& body = "") {
  return "node { name: '" + name + "' op: 'TestOp' " + body + " }\n";
}

std::string ConstText(const std::string& tensor) {
  return NodeText("c", "attr { key: 'value' value { tensor { " + tensor + " } } }");
}

Tensor ReadConst(const std::string& tensor) {
  return ParseGraphText(ConstText(tensor)).node(NodeId(0)).GetTensorAttr("value");
}

TEST(GraphIo, InputsResolveInAnyFileOrder) {
  const Graph graph = ParseGraphText(
      NodeText("user", "input: 'a' input: 'scope/b:2' input: '^a' input: '^scope/b'") + NodeText("a") +
      NodeText("scope/b", "attr { key: '_output_shapes' value { list { shape {} shape {} shape {} } } }"));
  EXPECT_THAT(graph.node(NodeId(0)).inputs, ElementsAre(Endpoint{NodeId(1), 0}, Endpoint{NodeId(2), 2}));
  EXPECT_THAT(graph.node(NodeId(0)).control_inputs, ElementsAre(NodeId(1), NodeId(2)));
  EXPECT_THAT(GraphToText(graph), AllOf(HasSubstr("input: \"scope/b:2\""), HasSubstr("input: \"^scope/b\"")));
}

TEST(GraphIo, MalformedGraphsNameTheNodes) {
  const auto error = [](const std::string& text) { return ErrorOf([&] { ParseGraphText(text); }); };
  EXPECT_THAT(error(NodeText("n", "input: 'gone:1'")),
              AllOf(HasSubstr("InvalidArgument"), HasSubstr("'n'"), HasSubstr("'gone'")));
  EXPECT_THAT(error(NodeText("n") + NodeText("n")), AllOf(HasSubstr("InvalidArgument"), HasSubstr("'n'")));
  EXPECT_THAT(error(NodeText("a") + NodeText("n", "input: '^a' input: 'a'")),
              AllOf(HasSubstr("InvalidArgument"), HasSubstr("'n'"), HasSubstr("control inputs last")));
  EXPECT_THAT(error(NodeText("a") + NodeText("n", "input: 'a:x'")), HasSubstr("'a:x'"));
  EXPECT_THAT(error(NodeText("a") + NodeText("n", "input: 'a:-1'")), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error(NodeText("a") + NodeText("n", "input: 'a:4294967296'")), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error(NodeText("a b")), HasSubstr("not a legal node name"));
  EXPECT_THAT(error(NodeText("")), HasSubstr("not a legal node name"));
  EXPECT_THAT(error("node { name: 'n' }"), HasSubstr("has no op"));
}

TEST(GraphIo, TextErrorsAreOneLineWithAPosition) {
  const std::string error = ErrorOf([] { ParseGraphText("node {\n  nam: 'x'\n}"); });
  EXPECT_THAT(error, AllOf(HasSubstr("InvalidArgument"), HasSubstr("2:"), HasSubstr("nam")));
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(GraphIo, DeepTextIsRefused) {
  std::string text = "node { name: 'n' op: 'X' experimental_type { ";
  for (int i = 0; i < 10'000; ++i) text += "args { ";
  EXPECT_THAT(ErrorOf([&] { ParseGraphText(text); }), HasSubstr("InvalidArgument"));
}

TEST(GraphIo, TextMustHoldUtf8Strings) {
  EXPECT_THAT(ErrorOf([] { ParseGraphText("node { name: 'n' op: '\\377' }"); }),
              HasSubstr("InvalidArgument"));
}

TEST(GraphIo, BinaryGarbageIsRefused) {
  EXPECT_THAT(ErrorOf([] { ParseGraphBinary("\xff\xff\xff"); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([] { ParseGraphBinary("node { name: 'a' }"); }), HasSubstr(".pbtxt"));
  // Field 1 as a number: what a SavedModel begins with.
  EXPECT_THAT(ErrorOf([] { ParseGraphBinary(std::string("\x08\x01", 2)); }), HasSubstr("SavedModel"));
  EXPECT_EQ(ParseGraphBinary("").num_nodes(), 0);
}

TEST(GraphIo, ConstantsInEveryForm) {
  const std::string shape4 = "tensor_shape { dim { size: 4 } } ";
  const Tensor repeated = ReadConst("dtype: DT_FLOAT " + shape4 + "float_val: 1.5 float_val: 2");
  EXPECT_EQ(repeated.data<float>()[0], 1.5f);
  EXPECT_EQ(repeated.data<float>()[3], 2.0f) << "the last value repeats";
  EXPECT_EQ(ReadConst("dtype: DT_INT64 " + shape4).data<int64_t>()[3], 0) << "no value means zeros";
  EXPECT_EQ(ReadConst("dtype: DT_INT32 tensor_shape {} int_val: -3").data<int32_t>()[0], -3);
  EXPECT_EQ(ReadConst("dtype: DT_UINT8 tensor_shape {} int_val: 200").data<uint8_t>()[0], 200);
  EXPECT_EQ(ReadConst("dtype: DT_DOUBLE tensor_shape {} double_val: 0.1").data<double>()[0], 0.1);
  EXPECT_TRUE(ReadConst("dtype: DT_BOOL tensor_shape {} bool_val: true").data<bool>()[0]);
  EXPECT_EQ(ReadConst("dtype: DT_STRING " + shape4 + "string_val: 'ab'").data<std::string>()[3], "ab");
  const Tensor raw =
      ReadConst("dtype: DT_INT32 " + shape4 +
                R"(tensor_content: "\001\000\000\000\002\000\000\000\003\000\000\000\377\377\377\377")");
  EXPECT_EQ(raw.data<int32_t>()[1], 2);
  EXPECT_EQ(raw.data<int32_t>()[3], -1);
  const Tensor half = ReadConst("dtype: DT_HALF " + shape4 + "half_val: 15360 half_val: 1");
  EXPECT_EQ(static_cast<const uint16_t*>(half.raw_data())[0], 15360);
  EXPECT_EQ(static_cast<const uint16_t*>(half.raw_data())[3], 1);
  const Tensor complex = ReadConst("dtype: DT_COMPLEX64 " + shape4 + "scomplex_val: 1 scomplex_val: -1");
  EXPECT_EQ(static_cast<const float*>(complex.raw_data())[7], -1.0f);
  const Tensor flags = ReadConst("dtype: DT_BOOL " + shape4 + R"(tensor_content: "\000\001\002\377")");
  EXPECT_EQ(static_cast<const uint8_t*>(flags.raw_data())[2], 1) << "a bool is 0 or 1";
  const Tensor strings =
      ReadConst("dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\001\\002abc'");
  EXPECT_EQ(strings.data<std::string>()[0], "a");
  EXPECT_EQ(strings.data<std::string>()[1], "bc");
}

TEST(GraphIo, HostileConstantsAreRefusedBeforeAllocating) {
  const auto error = [](const std::string& tensor) { return ErrorOf([&] { ReadConst(tensor); }); };
  const std::string huge = "tensor_shape { dim { size: 1000000000000 } } ";
  EXPECT_THAT(error("dtype: DT_FLOAT " + huge + "float_val: 1"),
              AllOf(HasSubstr("InvalidArgument"), HasSubstr("'c'"), HasSubstr("'value'")));
  EXPECT_THAT(error("dtype: DT_STRING " + huge + "string_val: 'a'"), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error("dtype: DT_STRING " + huge + "tensor_content: 'a'"), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error("dtype: DT_FLOAT " + huge + "tensor_content: 'abcd'"), HasSubstr("4 bytes of content"));
  EXPECT_THAT(error("dtype: DT_FLOAT tensor_shape { dim { size: 9223372036854775807 } dim { size: 9 } }"),
              HasSubstr("InvalidArgument"));
  EXPECT_THAT(error("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }"), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error("dtype: DT_FLOAT tensor_shape { dim { size: -7 } }"), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error("dtype: DT_FLOAT tensor_shape { unknown_rank: true }"), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'abcde'"),
              HasSubstr("5 bytes of content"));
  EXPECT_THAT(error("dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\001\\377abc'"),
              HasSubstr("malformed"));
}

TEST(GraphIo, RepeatedValuesShareOneBudget) {
  // 2^28 floats are 1 GiB each: the third goes over 2^31 bytes.
  std::string text;
  for (char name : {'a', 'b', 'c'}) {
    text += NodeText({name},
                     "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: "
                     "268435456 } } } } }");
  }
  EXPECT_THAT(ErrorOf([&] { ParseGraphText(text); }), AllOf(HasSubstr("'c'"), HasSubstr("2^31")));
}

TEST(GraphIo, AttributesReadAsTheirKind) {
  const Graph graph = ParseGraphText(NodeText("n", R"(
    attr { key: 's' value { s: 'text' } }
    attr { key: 'f' value { f: 0.5 } }
    attr { key: 'type' value { type: DT_FLOAT_REF } }
    attr { key: 'shape' value { shape { dim { size: 3 } dim { size: -1 } } } }
    attr { key: 'any' value { shape { unknown_rank: true } } }
    attr { key: 'ints' value { list { i: 1 i: 2 } } }
    attr { key: 'types' value { list { type: DT_INT32 } } }
    attr { key: 'empty' value { list {} } }
    attr { key: 'mixed' value { list { i: 1 s: 'x' } } }
    attr { key: 'func' value { func { name: 'f' } } }
    attr { key: 'nothing' value { } })"));
  const Node& node = graph.node(NodeId(0));
  EXPECT_EQ(node.StringAttr("s"), "text");
  EXPECT_EQ(node.FloatAttr("f"), 0.5f);
  EXPECT_EQ(node.TypeAttr("type"), MakeRef(DataType::kFloat));
  EXPECT_EQ(node.GetShapeAttr("shape"), (Shape{3, kUnknownDim}));
  EXPECT_EQ(node.GetShapeAttr("any"), Shape::Unknown());
  EXPECT_THAT(node.IntListAttr("ints"), ElementsAre(1, 2));
  EXPECT_THAT(node.TypeListAttr("types"), ElementsAre(DataType::kInt32));
  EXPECT_TRUE(node.StringListAttr("empty").empty());
  for (const char* raw : {"mixed", "func", "nothing"}) {
    EXPECT_TRUE(std::holds_alternative<RawAttr>(*node.FindAttr(raw))) << raw;
  }
  EXPECT_EQ(GraphToBinary(ParseGraphText(GraphToText(graph))), GraphToBinary(graph));
}

TEST(GraphIo, ShapesBeyondOursKeepTheirBytes) {
  const std::string dims =
      "dim { size: 1 } dim { size: 2 } dim { size: 3 } dim { size: 4 } dim { size: 5 } dim { size: 6 } "
      "dim { size: 7 } dim { size: 8 } dim { size: 9 } ";
  const Graph graph = ParseGraphText(
      NodeText("n", "attr { key: 'nine' value { shape { " + dims + "} } }" +
                        "attr { key: 'named' value { shape { dim { size: 2 name: 'batch' } } } }"));
  EXPECT_EQ(graph.node(NodeId(0)).GetShapeAttr("nine"), Shape::Unknown());
  EXPECT_EQ(graph.node(NodeId(0)).GetShapeAttr("named"), Shape{2});
  EXPECT_THAT(GraphToText(graph), AllOf(HasSubstr("size: 9"), HasSubstr("name: \"batch\"")));
}

TEST(GraphIo, AttributesMadeInMemoryAreWritten) {
  Node node;
  node.name = "n";
  node.op = "TestOp";
  const auto constant = [](Tensor tensor) {
    return std::make_shared<const TensorAttr>(TensorAttr{std::move(tensor), ""});
  };
  node.attrs["scalar"] = constant(Tensor::Scalar(2.5f));
  node.attrs["vector"] = constant(Tensor::FromValues<int64_t>({3}, {1, -2, 3}));
  node.attrs["strings"] = constant(Tensor::FromValues<std::string>({2}, {"a", ""}));
  node.attrs["empty"] = constant(Tensor(DataType::kFloat, {0, 4}));
  node.attrs["shape"] = ShapeAttr{{2, kUnknownDim, BoundedDim(5)}, ""};
  node.attrs["flags"] = std::vector<bool>{true, false};
  node.attrs["floats"] = std::vector<float>{1, 2};
  node.attrs["shapes"] = std::vector<ShapeAttr>{{Shape{1}, ""}, {Shape::Unknown(), ""}};
  Graph graph;
  graph.AddNode(node);
  const Graph read = ParseGraphBinary(GraphToBinary(graph));
  const Node& back = read.node(NodeId(0));
  EXPECT_EQ(back.GetTensorAttr("scalar").data<float>()[0], 2.5f);
  EXPECT_EQ(back.GetTensorAttr("vector").data<int64_t>()[1], -2);
  EXPECT_EQ(back.GetTensorAttr("strings").data<std::string>()[0], "a");
  EXPECT_EQ(back.GetTensorAttr("strings").data<std::string>()[1], "");
  EXPECT_EQ(back.GetTensorAttr("empty").shape(), (Shape{0, 4}));
  EXPECT_EQ(back.GetShapeAttr("shape"), (Shape{2, kUnknownDim, kUnknownDim})) << "a file has no bounds";
  EXPECT_EQ(std::get<std::vector<bool>>(*back.FindAttr("flags")), (std::vector<bool>{true, false}));
  EXPECT_EQ(std::get<std::vector<float>>(*back.FindAttr("floats")), (std::vector<float>{1, 2}));
  EXPECT_EQ(std::get<std::vector<ShapeAttr>>(*back.FindAttr("shapes"))[1].shape, Shape::Unknown());
}

TEST(GraphIo, FieldsUnknownHereSurviveInBinary) {
  const std::string node = GraphToBinary(ParseGraphText(NodeText("n")));
  // Field 99 (a varint) at the end of the node and of the graph.
  const std::string unknown("\x98\x06\x2a", 3);
  std::string bytes = node + unknown;
  bytes[1] = static_cast<char>(bytes[1] + 3);
  bytes += unknown;
  EXPECT_EQ(GraphToBinary(ParseGraphBinary(bytes)), bytes);
}

TEST(GraphIo, TheLibraryIsListed) {
  const Graph graph =
      ParseGraphText(NodeText("n") +
                     "library { function { signature { name: 'f' } } function { signature { name: 'g' } } }");
  EXPECT_THAT(LibraryFunctions(graph), ElementsAre("f", "g"));
}

class GraphFiles : public testing::Test {
 protected:
  GraphFiles() { std::filesystem::create_directories(directory_); }
  ~GraphFiles() override { std::filesystem::remove_all(directory_); }
  std::string Path(const std::string& name) const { return (directory_ / name).string(); }

 private:
  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) / ("graph_files." + std::to_string(getpid()));
};

TEST_F(GraphFiles, TheExtensionDecidesTheForm) {
  const Graph graph = ParseGraphText(NodeText("n"));
  WriteGraph(graph, Path("g.pbtxt"));
  WriteGraph(graph, Path("g.pb"));
  EXPECT_EQ(ReadFile(Path("g.pbtxt")), GraphToText(graph));
  EXPECT_EQ(ReadFile(Path("g.pb")), GraphToBinary(graph));
  EXPECT_EQ(ReadGraph(Path("g.pbtxt")).num_nodes(), 1);
  EXPECT_EQ(ReadGraph(Path("g.pb")).num_nodes(), 1);
}

TEST_F(GraphFiles, ErrorsNameTheFile) {
  EXPECT_THAT(ErrorOf([&] { ReadGraph(Path("none.pb")); }),
              AllOf(HasSubstr("NotFound"), HasSubstr("none.pb")));
  EXPECT_THAT(ErrorOf([&] { ReadGraph(testing::TempDir()); }), HasSubstr("folder"));
  WriteFile(Path("bad.pbtxt"), "?");
  EXPECT_THAT(ErrorOf([&] { ReadGraph(Path("bad.pbtxt")); }),
              AllOf(HasSubstr("bad.pbtxt"), HasSubstr("1:1")));
  EXPECT_THAT(ErrorOf([&] { WriteGraph(Graph(), Path("no/such/folder.pb")); }), HasSubstr("NotFound"));
}

TEST_F(GraphFiles, AFailedWriteLeavesNothingBehind) {
  std::filesystem::create_directories(Path("taken.pb"));
  EXPECT_THAT(ErrorOf([&] { WriteGraph(Graph(), Path("taken.pb")); }), HasSubstr("FailedPrecondition"));
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(Path("")))) {
    EXPECT_EQ(entry.path().filename(), "taken.pb");
  }
}

TEST(GraphSamples, RoundTripsAreLossless) {
  const std::filesystem::path samples = std::filesystem::path(test::SourceDir()) / "samples/graphs";
  if (!std::filesystem::exists(samples)) GTEST_SKIP() << "no sample graphs";
  for (const auto& entry : std::filesystem::directory_iterator(samples)) {
    if (entry.path().extension() != ".pbtxt") continue;
    SCOPED_TRACE(entry.path().string());
    // Written by another program, whose text differs in how it prints numbers.
    const Graph graph = ParseGraphText(ReadFile(entry.path().string()));
    const std::string binary = GraphToBinary(graph);
    const std::string text = GraphToText(graph);
    EXPECT_TRUE(GraphToBinary(ParseGraphBinary(binary)) == binary);
    EXPECT_TRUE(GraphToBinary(ParseGraphText(text)) == binary);
    EXPECT_TRUE(GraphToText(ParseGraphBinary(binary)) == text);
  }
}

}  // namespace
}  // namespace lanescope
