// SPDX-License-Identifier: Apache-2.0
// The segments of a program of streams: issued command by command, recorded as graphs, replayed.
#include <algorithm>
#include <mutex>

#include "core/base/error.h"
#include "exec/stream/stream_program.h"

namespace lanescope::exec {

void StreamProgram::MakeSegments() {
  for (const auto& commands : plan_.segments) {
    Segment& segment = segments_.emplace_back();
    origin_->device->MakeCurrent();
    segment.done = driver_->CreateEvent(false);
    for (const CommandId c : commands) {
      Stream* stream = At(c).stream;
      if (stream != origin_ &&
          std::find(segment.streams.begin(), segment.streams.end(), stream) == segment.streams.end())
        segment.streams.push_back(stream);
    }
  }
}

void StreamProgram::RunSegment(int number) {
  Segment& segment = segments_[static_cast<size_t>(number)];
  const auto& commands = plan_.segments[static_cast<size_t>(number)];
  const std::unique_lock<std::shared_mutex> lock(issue_mutex_);
  const std::shared_lock<std::shared_mutex> others = BetweenJointLaunches();
  for (const CommandId c : commands) {
    if (At(c).spec.feed) StageFeed(c);
  }
  for (const auto& stream : streams_) {
    if (stream.get() == origin_ || !stream->dirty.exchange(false, std::memory_order_relaxed)) continue;
    stream->device->MakeCurrent();
    driver_->Record(stream->join, stream->handle);
    driver_->Wait(origin_->handle, stream->join);
  }
  const bool wanted = capture_ != nullptr && graph_problem_.empty() && segment.ran;
  GraphHandle& graph = segment.graphs[timed_ ? 1 : 0];
  if (wanted && graph == nullptr) graph = RecordSegment(number);
  if (graph != nullptr) {
    origin_->device->MakeCurrent();
    if (told_ != nullptr) told_->Begin(identity_.schedule, identity_.step, commands.front());
    try {
      capture_->LaunchGraph(graph, origin_->handle);
    } catch (...) {
      if (told_ != nullptr) told_->End();
      Rethrow(commands.front());
    }
    if (told_ != nullptr) told_->End();
    for (const CommandId c : commands) At(c).issued = true;
  } else {
    IssueSegment(number, false);
    segment.ran = true;
  }
  origin_->device->MakeCurrent();
  driver_->Record(segment.done, origin_->handle);
  for (const auto& stream : streams_) {
    if (stream.get() == origin_) continue;
    stream->device->MakeCurrent();
    driver_->Wait(stream->handle, segment.done);
  }
}

// The other streams of the segment branch off the origin and join it again.
void StreamProgram::IssueSegment(int number, bool capture) {
  const Segment& segment = segments_[static_cast<size_t>(number)];
  origin_->device->MakeCurrent();
  if (!segment.streams.empty()) driver_->Record(origin_->join, origin_->handle);
  for (const Stream* stream : segment.streams) {
    stream->device->MakeCurrent();
    driver_->Wait(stream->handle, origin_->join);
  }
  size_t known = 0;
  for (const CommandId c : plan_.segments[static_cast<size_t>(number)]) {
    try {
      At(c).stream->device->MakeCurrent();
      Issue(c, capture);
      if (capture) NoteNodes(c, &known);
    } catch (...) {
      Rethrow(c);
    }
  }
  for (const Stream* stream : segment.streams) {
    stream->device->MakeCurrent();
    driver_->Record(stream->join, stream->handle);
    driver_->Wait(origin_->handle, stream->join);
  }
}

// Null when the segment cannot be recorded: then it is issued command by command from now on, and so are all
// others.
GraphHandle StreamProgram::RecordSegment(int number) {
  const size_t nodes_before = graph_nodes_.size();
  GraphHandle graph = nullptr;
  bool capturing = false;
  try {
    origin_->device->MakeCurrent();
    capture_->BeginCapture(origin_->handle);
    capturing = true;
    IssueSegment(number, true);
    origin_->device->MakeCurrent();
    capturing = false;
    graph = capture_->EndCapture(origin_->handle);
  } catch (const Error& error) {
    if (capturing) capture_->AbandonCapture(origin_->handle);
    graph_nodes_.resize(nodes_before);
    graph_problem_ = error.message();
    return nullptr;
  }
  if (observer_ != nullptr) observer_->GraphRecorded(identity_.schedule, graph_nodes_);
  return graph;
}

void StreamProgram::NoteNodes(CommandId command, size_t* known) {
  const auto nodes = capture_->CapturedNodes(origin_->handle);
  if (nodes.size() == *known) return;
  for (const GraphNode node : nodes) {
    if (seen_nodes_.insert(node).second) graph_nodes_.emplace_back(node, command);
  }
  *known = nodes.size();
}

void StreamProgram::Forget() {
  for (Segment& segment : segments_) {
    for (GraphHandle& graph : segment.graphs) {
      if (graph != nullptr) capture_->DestroyGraph(graph);
      graph = nullptr;
    }
  }
  graph_nodes_.clear();
  seen_nodes_.clear();
}

}  // namespace lanescope::exec
