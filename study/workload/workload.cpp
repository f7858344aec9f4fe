#include "study/workload/workload.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/expand/functions.h"
#include "core/graph/graph_io.h"
#include "core/inputs/onnx_model.h"
#include "core/inputs/saved_model.h"
#include "core/inputs/step_request.h"
#include "study/workload/queue_change.h"

namespace lanescope::study {
namespace {

// "x:0" and "x" are one tensor.
std::string_view WithoutFirstOutput(std::string_view name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

void ReplaceFeed(std::string name, Tensor values, RunSpec* spec) {
  for (const auto& [configured, old] : spec->feeds) {
    if (WithoutFirstOutput(configured) == WithoutFirstOutput(name)) name = configured;
  }
  FeedSpec feed;
  feed.values = std::move(values);
  feed.dtype = feed.values.dtype();
  feed.shape = feed.values.shape();
  spec->feeds[name] = std::move(feed);
}

void ReplaceFeed(const std::string& text, RunSpec* spec) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    Throw(Code::kInvalidArgument, "the feed '{}' is not of the form NAME=file.npy", text);
  }
  ReplaceFeed(text.substr(0, equals), ReadNpy(text.substr(equals + 1)), spec);
}

// A replaced feed may have another size than what was computed from it.
void CheckPolynomials(const RunSpec& spec) {
  for (const auto& [name, feed] : spec.feeds) {
    if (feed.generator != "polynomial") continue;
    if (spec.feeds.at(feed.of).shape.NumElements() == feed.shape.NumElements()) continue;
    Throw(Code::kInvalidArgument, "feed '{}' is a polynomial of '{}', which has now another size; feed both",
          name, feed.of);
  }
}

// All that it runs is there.
void CheckQueueRunner(const Graph& graph, const QueueRunnerSpec& runner) {
  std::vector<std::string> nodes = runner.enqueue_ops;
  for (const std::string& op : {runner.close_op, runner.cancel_op}) {
    if (!op.empty()) nodes.push_back(op);
  }
  for (const std::string& node : nodes) {
    if (graph.FindNode(node).exists()) continue;
    Throw(Code::kNotFound, "the queue runner of '{}' needs the node '{}', which the graph lacks",
          runner.queue, node);
  }
}

// Fills a step that asks for nothing, or refuses it.
void Configure(const Graph& graph, const std::string& title, const WorkloadOptions& options, RunSpec* spec) {
  if (!spec->fetches.empty() || !spec->targets.empty()) return;
  if (options.unconfigured == Unconfigured::kRefuse) {
    Throw(Code::kInvalidArgument,
          "'{}' has no run configuration beside it that names fetches or targets; use --fetch or --target",
          title);
  }
  for (const std::string& assumed : ConfigureWholeGraph(graph, spec)) {
    Tell(options.note, "note: " + assumed + "; a run configuration or a feed says it better");
  }
}

}  // namespace

Workload::Workload(const std::string& path, const WorkloadOptions& options)
    : path_(path), name_(std::filesystem::path(path).filename().string()), spec_(ReadRunSpecBeside(path)) {
  if (IsSavedModel(path)) {
    SavedModel model = ReadSavedModel(path);
    graph_ = std::move(model.graph);
    if (spec_.init.empty()) spec_.init = std::move(model.spec.init);
    if (spec_.queue_runners.empty()) spec_.queue_runners = std::move(model.spec.queue_runners);
    if (spec_.feeds.empty()) spec_.feeds = std::move(model.spec.feeds);
    if (spec_.fetches.empty() && spec_.targets.empty()) spec_.fetches = std::move(model.spec.fetches);
  } else if (IsOnnxModel(path)) {
    TakeOnnxModel(path, options);
  } else {
    graph_ = ReadGraph(path);
  }
  Prepare(path, options);
}

// The shapes of feeds fill what the model leaves open.
void Workload::TakeOnnxModel(const std::string& path, const WorkloadOptions& options) {
  for (const std::string& feed : options.feeds) ReplaceFeed(feed, &spec_);
  std::map<std::string, Shape> shapes;
  for (const auto& [name, feed] : spec_.feeds)
    shapes.emplace(std::string(WithoutFirstOutput(name)), feed.shape);
  OnnxModel model = ReadOnnxModel(path, shapes);
  graph_ = std::move(model.graph);
  for (auto& [name, feed] : model.spec.feeds)
    if (!shapes.contains(name)) spec_.feeds.emplace(name, std::move(feed));
  if (spec_.fetches.empty() && spec_.targets.empty()) spec_.fetches = std::move(model.spec.fetches);
}

Workload::Workload(std::string name, Graph graph, RunSpec spec, const WorkloadOptions& options)
    : name_(std::move(name)), graph_(std::move(graph)), spec_(std::move(spec)) {
  Prepare(name_, options);
}

// Loops and branches that cannot be expanded stay: such a graph can be placed and simulated.
void Workload::Inline(const WorkloadOptions& options) {
  InlineOptions known;
  known.trips = spec_.trips;
  known.exact_trips = options.exact_trips;
  known.counted = &counted_loops_;
  known.collectives = {options.all_reduce, options.machine, options.joint_launches};
  if (!spec_.fetches.empty() || !spec_.targets.empty()) {
    for (const auto* names : {&spec_.init, &spec_.fetches, &spec_.targets})
      known.needed.insert(known.needed.end(), names->begin(), names->end());
    for (const QueueRunnerSpec& runner : spec_.queue_runners) {
      known.needed.insert(known.needed.end(), runner.enqueue_ops.begin(), runner.enqueue_ops.end());
      for (const std::string& op : {runner.close_op, runner.cancel_op}) {
        if (!op.empty()) known.needed.push_back(op);
      }
    }
  }
  for (const auto& [name, feed] : spec_.feeds) {
    known.feeds[name].dtype = feed.dtype;
    known.feeds[name].shape = feed.shape;
  }
  try {
    graph_ = InlineFunctions(graph_, known);
  } catch (const Error& error) {
    if (error.code() != Code::kUnimplemented) throw;
    Tell(options.note, "note: loops and branches stay as they are, and cannot be run: " + error.message());
    graph_ = InlineCalls(graph_);
  }
}

void Workload::Prepare(const std::string& title, const WorkloadOptions& options) {
  for (const std::string& feed : options.feeds) ReplaceFeed(feed, &spec_);
  for (const auto& [name, values] : options.values) ReplaceFeed(name, values, &spec_);
  CheckPolynomials(spec_);
  for (const auto& [loop, times] : options.trips) spec_.trips[loop] = times;
  if (!options.fetches.empty()) spec_.fetches = options.fetches;
  if (!options.targets.empty()) spec_.targets = options.targets;
  Inline(options);
  for (const std::string& change : options.queues) ApplyQueueChange(change, &graph_, &spec_);
  Configure(graph_, title, options, &spec_);
  for (const QueueRunnerSpec& runner : spec_.queue_runners) CheckQueueRunner(graph_, runner);
  request_ = StepRequestOf(graph_, spec_);
  info_ = InferGraph(graph_, request_.feeds);
  placer_.soft_placement = options.soft_placement;
}

std::vector<TensorInfo> Workload::InputInfos(NodeId node) const {
  std::vector<TensorInfo> inputs;
  for (const Endpoint& input : graph_.node(node).inputs) inputs.push_back(info_.of(input));
  return inputs;
}

namespace {

std::string ConfigurationBeside(const std::string& graph) {
  return std::filesystem::path(graph).replace_extension(".run.json").string();
}

}  // namespace

void CopyRunConfiguration(const Workload& original, const std::string& graph_path) {
  const std::string from = ConfigurationBeside(original.path()), to = ConfigurationBeside(graph_path);
  std::error_code ignored;
  if (original.path().empty() || !std::filesystem::exists(from, ignored)) return;
  if (!std::filesystem::exists(to, ignored)) WriteFile(to, ReadFile(from));
}

void SaveRunConfiguration(const Workload& original, const RunSpec& spec, const std::string& graph_path) {
  std::error_code ignored;
  const std::string from = ConfigurationBeside(original.path());
  nlohmann::json json = nlohmann::json::object();
  if (!original.path().empty() && std::filesystem::exists(from, ignored))
    json = nlohmann::json::parse(ReadFile(from));
  json["fetches"] = spec.fetches;
  json["targets"] = spec.targets;
  if (!spec.loss.empty()) json["loss"] = spec.loss;
  json.erase("batch_axis");  // is used up
  WriteFile(ConfigurationBeside(graph_path), json.dump(2) + "\n");
}

}  // namespace lanescope::study
