// SPDX-License-Identifier: Apache-2.0
// Hostile bytes for every parser of input files: each either reads them or throws Error, and what reads as a
// graph also writes and reads again. Built with -fsanitize=fuzzer this is a libFuzzer
// target; with replay.cpp, a program that replays a corpus and then tries mutations of it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/expand/functions.h"
#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "tests/fuzz/hostile.h"

namespace lanescope {
namespace {

void CheckRoundTrip(const Graph& graph) {
  const std::string binary = GraphToBinary(graph);
  if (GraphToBinary(ParseGraphBinary(binary)) != binary) std::abort();
  // Not compared: text cannot say the payload of a NaN, or fields that are unknown here.
  ParseGraphText(GraphToText(graph));
}

// A graph that was read once must never be refused afterwards: no Error is caught around the round trip.
template <typename Parse>
void TryGraph(Parse parse) {
  Graph graph;
  if (!Try([&] { graph = parse(); })) return;
  CheckRoundTrip(graph);
  Try([&] { InlineFunctions(graph); });  // calls, loops and branches are expanded or refused
}

void TryEverything(std::string_view bytes) {
  TryGraph([&] { return ParseGraphBinary(bytes); });
  TryGraph([&] { return ParseGraphText(bytes); });
  Try([&] { ParseNpy(bytes); });
  Try([&] { ParseRunSpec(bytes, "/nonexistent"); });
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryEverything({reinterpret_cast<const char*>(data), size});
  return 0;
}
