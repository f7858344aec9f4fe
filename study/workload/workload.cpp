// SPDX-License-Identifier: Apache-2.0
#include "study/workload/workload.h"

#include <algorithm>
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
#include "core/machine/tasks.h"
#include "core/schedule/fusion.h"
#include "study/workload/queue_change.h"

namespace lanescope::study {
namespace {

// "x:0" and "x" are one tensor.
std::string_view WithoutFirstOutput(std::string_view name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

std::vector<std::string> GraphTensorsOf(const RunSpec& spec, const std::vector<std::string>& names) {
  std::vector<std::string> tensors;
  for (const std::string& name : names) tensors.push_back(GraphTensorOf(spec, name));
  return tensors;
}

// A run configuration that users wrote, in the graph's names. Once: a name of one may be an alias of another.
void ResolveAliases(RunSpec* spec) {
  std::map<std::string, FeedSpec> feeds;
  for (auto& [name, feed] : spec->feeds) {
    if (!feed.of.empty()) feed.of = GraphTensorOf(*spec, feed.of);
    feeds[GraphTensorOf(*spec, name)] = std::move(feed);
  }
  spec->feeds = std::move(feeds);
  std::map<std::string, int> axes;
  for (const auto& [name, axis] : spec->batch_axis) axes[GraphTensorOf(*spec, name)] = axis;
  spec->batch_axis = std::move(axes);
  for (auto* names : {&spec->fetches, &spec->targets}) *names = GraphTensorsOf(*spec, *names);
  spec->loss = GraphTensorOf(*spec, spec->loss);
}

void ReplaceFeed(std::string name, Tensor values, RunSpec* spec) {
  name = GraphTensorOf(*spec, name);
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

void TellAssumed(const WorkloadOptions& options, const std::string& assumed) {
  Tell(options.note, "note: " + assumed + "; a run configuration or a feed says it better");
}

// The names of the feeds that are not of the run configuration.
std::vector<std::string> GivenFeeds(const WorkloadOptions& options) {
  std::vector<std::string> names;
  for (const std::string& feed : options.feeds) names.push_back(feed.substr(0, feed.find('=')));
  for (const auto& [name, values] : options.values) names.push_back(name);
  return names;
}

bool IsGiven(const WorkloadOptions& options, const RunSpec& spec, const std::string& tensor) {
  return std::ranges::any_of(GivenFeeds(options), [&](const std::string& name) {
    return WithoutFirstOutput(GraphTensorOf(spec, name)) == WithoutFirstOutput(tensor);
  });
}

// A feed that nothing of the step reads would be in vain, and the step computed from numbers that are made.
void CheckFeedsAreNeeded(const Graph& graph, const RunSpec& spec, const CompileRequest& request,
                         const WorkloadOptions& options) {
  const std::vector<std::string> given = GivenFeeds(options);
  if (given.empty()) return;
  const IdVector<NodeId, char> needed = NodesOfStep(graph, spec, request);
  std::string taken;
  for (const auto& [endpoint, info] : request.feeds)
    if (needed[endpoint.node])
      taken += (taken.empty() ? "'" : ", '") + TitleOf(spec, graph.TensorName(endpoint)) + "'";
  for (const std::string& name : given) {
    if (needed[graph.FindEndpoint(GraphTensorOf(spec, name)).node]) continue;
    Throw(Code::kInvalidArgument, "the step does not need '{}', which is fed; {}", name,
          taken.empty() ? "it needs no feed" : "it is fed " + taken);
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
  for (const std::string& assumed : ConfigureWholeGraph(graph, spec)) TellAssumed(options, assumed);
}

}  // namespace

Workload::Workload(const std::string& path, const WorkloadOptions& options)
    : path_(path), name_(std::filesystem::path(path).filename().string()), spec_(ReadRunSpecBeside(path)) {
  if (IsSavedModel(path)) {
    TakeSavedModel(path, options);
  } else if (IsOnnxModel(path)) {
    TakeOnnxModel(path, options);
  } else {
    graph_ = ReadGraph(path);
  }
  Prepare(path, options);
  // An input of an ONNX model may count by its shape alone.
  if (!IsOnnxModel(path)) CheckFeedsAreNeeded(graph_, spec_, request_, options);
}

void Workload::TakeSavedModel(const std::string& path, const WorkloadOptions& options) {
  SavedModel model = ReadSavedModel(path);
  graph_ = std::move(model.graph);
  spec_.aliases = std::move(model.spec.aliases);
  ResolveAliases(&spec_);
  if (spec_.init.empty()) spec_.init = std::move(model.spec.init);
  if (spec_.queue_runners.empty()) spec_.queue_runners = std::move(model.spec.queue_runners);
  const bool own_feeds = spec_.feeds.empty();
  if (own_feeds) spec_.feeds = std::move(model.spec.feeds);
  if (spec_.fetches.empty() && spec_.targets.empty()) spec_.fetches = std::move(model.spec.fetches);
  for (const auto& [tensor, note] : model.notes)
    if (own_feeds && !IsGiven(options, spec_, tensor)) TellAssumed(options, note);
}

// The shapes of feeds fill what the model leaves open.
void Workload::TakeOnnxModel(const std::string& path, const WorkloadOptions& options) {
  RunSpec given = spec_;
  for (const std::string& feed : options.feeds) ReplaceFeed(feed, &given);
  for (const auto& [name, values] : options.values) ReplaceFeed(name, values, &given);
  std::map<std::string, Shape> shapes;
  for (const auto& [name, feed] : given.feeds) shapes.emplace(name, feed.shape);
  for (const auto& [name, feed] : given.feeds)
    shapes.emplace(std::string(WithoutFirstOutput(name)), feed.shape);
  OnnxModel model = ReadOnnxModel(path, shapes);
  graph_ = std::move(model.graph);
  spec_.aliases = std::move(model.spec.aliases);
  spec_.titles = std::move(model.spec.titles);
  ResolveAliases(&spec_);
  for (auto& [name, feed] : model.spec.feeds)
    if (!spec_.feeds.contains(name + ":0")) spec_.feeds.emplace(name, std::move(feed));
  if (spec_.fetches.empty() && spec_.targets.empty()) spec_.fetches = std::move(model.spec.fetches);
  for (const std::string& note : model.notes) TellAssumed(options, note);
}

namespace {

// GPUs of the machine that run each node by itself although launches are to be shared.
void TellUnfused(const WorkloadOptions& options) {
  if (!options.fuse || options.machine == nullptr) return;
  const bool alone = TasksOf(*options.machine).size() == 1;
  const auto& devices = options.machine->devices;
  const auto gpu = std::ranges::find_if(
      devices, [&](const DeviceSpec& d) { return d.is_hardware() && !(alone && RunsFused(d)); });
  if (gpu == devices.end()) return;
  Tell(options.note,
       std::string("note: on GPUs no launches are shared: ") +
           (alone ? "NVRTC, which makes their kernels, is not installed"
                  : "the machine has several tasks, which know nothing of each other's kernels"));
}

}  // namespace

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
  all_reduce_ = options.all_reduce;
  joint_launches_ = options.joint_launches;
  for (const std::string& feed : options.feeds) ReplaceFeed(feed, &spec_);
  for (const auto& [name, values] : options.values) ReplaceFeed(name, values, &spec_);
  CheckPolynomials(spec_);
  for (const auto& [loop, times] : options.trips) spec_.trips[loop] = times;
  if (!options.fetches.empty()) spec_.fetches = GraphTensorsOf(spec_, options.fetches);
  if (!options.targets.empty()) spec_.targets = GraphTensorsOf(spec_, options.targets);
  Inline(options);
  for (const std::string& change : options.queues) ApplyQueueChange(change, &graph_, &spec_);
  Configure(graph_, title, options, &spec_);
  for (const QueueRunnerSpec& runner : spec_.queue_runners) CheckQueueRunner(graph_, runner);
  request_ = StepRequestOf(graph_, spec_);
  info_ = std::make_shared<const GraphInfo>(InferGraph(graph_, request_.feeds));
  request_.fuse = options.fuse;
  TellUnfused(options);
  placer_.soft_placement = options.soft_placement;
}

std::vector<TensorInfo> Workload::InputInfos(NodeId node) const {
  std::vector<TensorInfo> inputs;
  for (const Endpoint& input : graph_.node(node).inputs) inputs.push_back(info_->of(input));
  return inputs;
}

namespace {

std::string ConfigurationBeside(const std::string& graph) {
  return std::filesystem::path(graph).replace_extension(".run.json").string();
}

// A configuration names files of its own folder alone: they go where it goes.
void CopyFeedFiles(const nlohmann::json& configuration, const std::string& from, const std::string& to) {
  const auto source = std::filesystem::path(from).parent_path(),
             target = std::filesystem::path(to).parent_path();
  if (!configuration.contains("feeds")) return;
  for (const auto& [name, feed] : configuration["feeds"].items()) {
    if (!feed.is_object() || !feed.contains("file")) continue;
    const auto file = feed["file"].get<std::string>();
    const std::filesystem::path copy = target / file;
    std::error_code ignored;
    if (std::filesystem::exists(copy, ignored)) continue;
    std::filesystem::create_directories(copy.parent_path(), ignored);
    WriteFile(copy.string(), ReadFile((source / file).string()));
  }
}

}  // namespace

void CopyRunConfiguration(const Workload& original, const std::string& graph_path) {
  const std::string from = ConfigurationBeside(original.path()), to = ConfigurationBeside(graph_path);
  std::error_code ignored;
  if (original.path().empty() || !std::filesystem::exists(from, ignored)) return;
  if (std::filesystem::exists(to, ignored)) return;
  const std::string configuration = ReadFile(from);
  CopyFeedFiles(nlohmann::json::parse(configuration), from, to);
  WriteFile(to, configuration);
}

void SaveRunConfiguration(const Workload& original, const RunSpec& spec, const std::string& graph_path) {
  std::error_code ignored;
  const std::string from = ConfigurationBeside(original.path());
  nlohmann::json json = nlohmann::json::object();
  if (!original.path().empty() && std::filesystem::exists(from, ignored))
    json = nlohmann::json::parse(ReadFile(from));
  CopyFeedFiles(json, from, ConfigurationBeside(graph_path));
  json["fetches"] = spec.fetches;
  json["targets"] = spec.targets;
  if (!spec.loss.empty()) json["loss"] = spec.loss;
  json.erase("batch_axis");  // is used up
  WriteFile(ConfigurationBeside(graph_path), json.dump(2) + "\n");
}

}  // namespace lanescope::study
