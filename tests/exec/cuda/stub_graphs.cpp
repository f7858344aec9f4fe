// SPDX-License-Identifier: Apache-2.0
// Captures of the stub's streams and the graphs that come of them.
#include <algorithm>

#include "core/base/error.h"
#include "tests/exec/cuda/stub_state.h"

namespace lanescope::exec::test {

void StubCuda::BeginCapture(StreamHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaStreamBeginCapture");
  auto capture = std::make_unique<Capture>();
  capture->origin = At(handle);
  capture->thread = std::this_thread::get_id();
  capture->origin->capture = capture.get();
  capture->origin->lane = 0;
  capture->streams = {capture->origin};
  capture->joined = {true};
  capture->graph->lanes.resize(1);
  captures_.push_back(std::move(capture));
}

std::vector<GraphNode> StubCuda::CapturedNodes(StreamHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  std::vector<GraphNode> nodes;
  for (const auto& node : At(handle)->capture->graph->handles) nodes.push_back(node.get());
  return nodes;
}

GraphHandle StubCuda::EndCapture(StreamHandle handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Capture* capture = At(handle)->capture;
  LANESCOPE_CHECK(capture != nullptr && capture->origin == At(handle));
  const bool joined = std::all_of(capture->joined.begin(), capture->joined.end(), [](bool j) { return j; });
  capture->open = false;
  Graph* graph = capture->graph.release();
  for (Stream* stream : capture->streams) stream->capture = nullptr;
  for (Event* event : events_) {
    if (event->capture == capture) event->capture = nullptr;
  }
  graphs_.insert(graph);
  if (!joined) {
    DestroyGraph(reinterpret_cast<GraphHandle>(graph));
    Throw(Code::kInternal, "cudaStreamEndCapture failed: cudaErrorStreamCaptureUnjoined");
  }
  try {
    Count("cudaStreamEndCapture");
  } catch (...) {
    DestroyGraph(reinterpret_cast<GraphHandle>(graph));
    throw;
  }
  return reinterpret_cast<GraphHandle>(graph);
}

void StubCuda::AbandonCapture(StreamHandle handle) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Capture* capture = At(handle)->capture;
  if (capture == nullptr) return;
  capture->open = false;
  for (Stream* stream : capture->streams) stream->capture = nullptr;
  for (Event* event : events_) {
    if (event->capture == capture) event->capture = nullptr;
  }
}

void StubCuda::LaunchGraph(GraphHandle handle, StreamHandle stream) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaGraphLaunch");
  const auto* graph = reinterpret_cast<const Graph*>(handle);
  event_nodes_ += graph->event_nodes;
  Enqueue(stream, [this, graph] { RunGraph(*graph); });
}

void StubCuda::DestroyGraph(GraphHandle handle) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  auto* graph = reinterpret_cast<Graph*>(handle);
  LANESCOPE_CHECK(graphs_.erase(graph) == 1);
  delete graph;
}

void StubCuda::RunGraph(const Graph& graph) {
  std::vector<std::deque<Work>> lanes = graph.lanes;
  std::vector<bool> ran(graph.nodes, false);
  std::vector<std::deque<Work>*> queues;
  for (auto& lane : lanes) queues.push_back(&lane);
  const auto ready = [&](const Work& work) {
    return work.captured_wait == SIZE_MAX || ran[work.captured_wait];
  };
  size_t left = graph.nodes;
  while (left > 0) {
    LANESCOPE_CHECK(RunOneOf(queues, ready, [&](const Work& work) { ran[work.node] = true; }));
    --left;
  }
}

}  // namespace lanescope::exec::test
