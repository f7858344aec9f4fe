// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph_io.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/graph/foreign_model.h"
#include "core/graph/graph_proto.h"
#include "core/graph/raised_loops.h"
#include "core/graph/tensor_proto.h"
#include "core/graph/validate.h"

namespace lanescope {
namespace {

// A little more than protobuf allows a binary message, which is what decides in the end.
constexpr int kMaxDepth = 128;

// Keeps the first complaint only, since the rest follow from it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (text_.empty()) text_ = fmt::format("{}:{}: {}", line + 1, column + 1, message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool IsTextPath(std::string_view path) { return path.ends_with(".pbtxt") || path.ends_with(".txt"); }

void CheckMessageSize(std::string_view bytes) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    Throw(Code::kInvalidArgument, "a GraphDef over 2 GiB cannot be read");
  }
}

// A GraphDef in text form begins with the name of a field or a comment.
bool LooksLikeText(std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
  return bytes.starts_with("node") || bytes.starts_with("library") || bytes.starts_with("versions") ||
         bytes.starts_with('#');
}

// A SavedModel or MetaGraphDef parses as a GraphDef of unknown fields.
void CheckIsGraph(const tf::GraphDef& proto) {
  if (proto.node_size() == 0 && !proto.GetReflection()->GetUnknownFields(proto).empty()) {
    Throw(Code::kInvalidArgument,
          "the file holds no graph; of a SavedModel or MetaGraph, export the GraphDef");
  }
}

}  // namespace

Graph ParseGraphBinary(std::string_view bytes) {
  CheckMessageSize(bytes);
  const google::protobuf::LogSilencer silencer;
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<tf::GraphDef>(&arena);
  if (!proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    Throw(Code::kInvalidArgument, "the bytes are no GraphDef{}",
          LooksLikeText(bytes) ? "; a graph in text form is named .pbtxt" : ": malformed, or cut off");
  }
  CheckIsGraph(*proto);
  RaiseLoops(proto);
  Graph graph = GraphFromProto(proto);
  NoteProblems(&graph);
  return graph;
}

Graph ParseGraphText(std::string_view text) {
  CheckMessageSize(text);
  std::string bytes;
  {
    const google::protobuf::LogSilencer silencer;
    google::protobuf::Arena arena;
    auto* proto = google::protobuf::Arena::CreateMessage<tf::GraphDef>(&arena);
    google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
    FirstError error;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&error);
    parser.SetRecursionLimit(kMaxDepth);
    if (!parser.Parse(&stream, proto)) {
      Throw(Code::kInvalidArgument, "the text is no GraphDef: {}", error.text());
    }
    bytes = SerializeInOrder(*proto);
  }
  // Text can say what the binary form refuses (strings that are not UTF-8): both ways in check the same.
  return ParseGraphBinary(bytes);
}

Graph ReadGraph(const std::string& path) {
  RefuseForeignModel(path);
  const std::string bytes = ReadFile(path);
  try {
    Graph graph = IsTextPath(path) ? ParseGraphText(bytes) : ParseGraphBinary(bytes);
    if (graph.num_nodes() == 0)
      Throw(Code::kInvalidArgument, "{}", bytes.empty() ? "the file is empty" : "the graph has no nodes");
    return graph;
  } catch (const Error& error) {
    Throw(error.code(), "{}: {}", path, error.message());
  }
}

std::string GraphToText(const Graph& graph) {
  const google::protobuf::LogSilencer silencer;
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<tf::GraphDef>(&arena);
  GraphToProto(graph, proto);
  google::protobuf::TextFormat::Printer printer;
  // They would be printed by number, and no reader accepts that.
  printer.SetHideUnknownFields(true);
  std::string text;
  if (!printer.PrintToString(*proto, &text)) {
    Throw(Code::kInternal, "the graph could not be printed");
  }
  return text;
}

std::string GraphToBinary(const Graph& graph) {
  const google::protobuf::LogSilencer silencer;
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<tf::GraphDef>(&arena);
  GraphToProto(graph, proto);
  return SerializeInOrder(*proto);
}

void WriteGraph(const Graph& graph, const std::string& path) {
  WriteFile(path, IsTextPath(path) ? GraphToText(graph) : GraphToBinary(graph));
}

std::vector<std::string> LibraryFunctions(const Graph& graph) {
  const google::protobuf::LogSilencer silencer;
  tf::GraphDef proto;
  LANESCOPE_CHECK(proto.ParseFromString(graph.extra));
  std::vector<std::string> names;
  for (const tf::FunctionDef& function : proto.library().function()) {
    names.push_back(function.signature().name());
  }
  return names;
}

}  // namespace lanescope
