// SPDX-License-Identifier: Apache-2.0
#include "core/expand/functions.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/stubs/logging.h>

#include "core/base/error.h"
#include "core/collective/collectives.h"
#include "core/expand/control_flow.h"
#include "core/expand/function_calls.h"
#include "core/expand/function_graphs.h"
#include "core/expand/partitions.h"
#include "core/graph/graph_proto.h"
#include "core/graph/validate.h"

namespace lanescope {

Graph InlineCalls(const Graph& graph) {
  const google::protobuf::LogSilencer silencer;
  google::protobuf::Arena arena;
  auto* before = google::protobuf::Arena::CreateMessage<tf::GraphDef>(&arena);
  LANESCOPE_CHECK(before->ParseFromString(graph.extra));
  if (before->library().function().empty()) return graph;
  GraphToProto(graph, before);
  auto* after = google::protobuf::Arena::CreateMessage<tf::GraphDef>(&arena);
  if (!InlineCalls(before->library(), *before, after)) return graph;
  before->clear_node();
  after->MergeFrom(*before);
  Graph inlined = GraphFromProto(after);
  NoteProblems(&inlined);
  return inlined;
}

Graph InlineFunctions(const Graph& graph, const InlineOptions& options) {
  Graph inlined = InlineCalls(graph);
  if (HasPartitions(inlined)) inlined = PartitionsJoined(std::move(inlined));
  if (HasControlFlow(inlined)) {
    FunctionGraphs functions(inlined.extra);
    inlined = ExpandControlFlow(inlined, &functions, options);
  }
  return ExpandCollectives(std::move(inlined), options.feeds, options.collectives);
}

}  // namespace lanescope
