#include "cli/workload.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/graph_io.h"

namespace lanescope::cli {
namespace {

int UsableCores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

void ReplaceFeed(const std::string& text, RunSpec* spec) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    Throw(Code::kInvalidArgument, "--feed '{}' is not of the form NAME=file.npy", text);
  }
  FeedSpec feed;
  feed.values = ReadNpy(text.substr(equals + 1));
  feed.dtype = feed.values.dtype();
  feed.shape = feed.values.shape();
  spec->feeds[text.substr(0, equals)] = std::move(feed);
}

}  // namespace

void MachineOptions::Add(CLI::App* command) {
  command->add_option("--machine", file, "Machine file (JSON); default: this machine with two virtual GPUs");
}

Machine MachineOptions::Load() const {
  if (!file.empty()) return ReadMachine(file);
  return VirtualMachine(2, std::max(1, UsableCores() / 2));
}

void StepOptions::Add(CLI::App* command) {
  command->add_option("--feed", feeds, "NAME=file.npy: feed this tensor instead of the configured one");
  command->add_option("--fetch", fetches, "Tensor to return (replaces the configured fetches)");
  command->add_option("--target", targets, "Node to run for its effect (replaces the configured targets)");
  command->add_flag("--no-soft-placement", no_soft_placement, "Fail where a requested device cannot be used");
}

Workload::Workload(const std::string& path, const StepOptions& options)
    : name_(std::filesystem::path(path).filename().string()),
      graph_(ReadGraph(path)),
      spec_(ReadRunSpecBeside(path)) {
  for (const std::string& feed : options.feeds) ReplaceFeed(feed, &spec_);
  if (!options.fetches.empty() || !options.targets.empty()) {
    spec_.fetches = options.fetches;
    spec_.targets = options.targets;
  }
  if (spec_.fetches.empty() && spec_.targets.empty()) {
    Throw(Code::kInvalidArgument,
          "'{}' has no run configuration beside it that names fetches or targets; use --fetch or --target",
          path);
  }
  info_ = std::make_unique<GraphInfo>(InferGraph(graph_, StepCompileRequest().feeds));
  placer_.soft_placement = !options.no_soft_placement;
}

exec::RunRequest Workload::StepRequest(int64_t step) const {
  return {MakeFeeds(spec_, step), spec_.fetches, spec_.targets};
}

exec::RunRequest Workload::InitRequest() const { return {{}, {}, spec_.init}; }

CompileRequest Workload::StepCompileRequest() const {
  CompileRequest request;
  for (const auto& [name, feed] : spec_.feeds) {
    TensorInfo info;
    info.dtype = feed.dtype;
    info.shape = feed.shape;
    request.feeds.emplace_back(graph_.FindEndpoint(name), info);
  }
  for (const std::string& fetch : spec_.fetches) request.fetches.push_back(graph_.FindEndpoint(fetch));
  for (const std::string& target : spec_.targets)
    request.fetches.push_back({graph_.FindEndpoint(target).node, -1});
  return request;
}

PlacedGraph Place(const Workload& workload, const std::string& strategy, const Machine& machine,
                  const CostModel& costs) {
  const PlacerOptions placer = workload.placer();
  const StrategyInput input{workload.graph(), workload.info(), machine, costs, placer};
  return {&workload, strategy, PlaceByStrategy(strategy, input)};
}

}  // namespace lanescope::cli
