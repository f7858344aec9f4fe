// A graph with the configuration of its step and the machine that it is for, as the command line gives them.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph.h"
#include "core/machine.h"
#include "core/placer.h"
#include "core/run_spec.h"
#include "core/strategy.h"
#include "exec/session.h"

namespace lanescope::cli {

// Options that every command with a machine has.
struct MachineOptions {
  std::string file;  // or kPhysical, or empty
  double memory_fraction = 0;
  std::string memory_limit;
  // `--machine physical`: the GPUs found here, however few.
  static constexpr std::string_view kPhysical = "physical";
  void Add(CLI::App* command);
  // The file, or this machine: its GPUs if there are two or more, else CPU:0 and two virtual GPUs that share
  // its cores.
  Machine Load() const;
  // The GPUs found here. Throws FailedPrecondition without any, saying why.
  Machine LoadPhysical() const;
};

// Options that override the run configuration beside the graph.
struct StepOptions {
  std::vector<std::string> feeds;  // NAME=file.npy
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  std::optional<uint64_t> seed;  // of what has no seed of its own: random ops, generated feeds
  bool no_soft_placement = false;
  exec::CudaOptions cuda;
  void Add(CLI::App* command);
  // How steps run on GPUs; for commands that run them.
  void AddGpu(CLI::App* command);
};

// The names that --strategy takes, for the option's description.
std::string StrategyNames();

struct PlaceOptions {
  int64_t program_timeout_s = 600;
  std::vector<int>* order = nullptr;  // if not null: node ids in the order in which the placer took them
  // --strategy-timeout, and what each strategy does at the end of the help.
  void Add(CLI::App* command);
};

// What a graph whose step is not configured stands for.
enum class Unconfigured {
  kRefuse,      // nothing: it is an error
  kWholeGraph,  // a step that runs every node, placeholders fed, unknown sizes taken as 1
};

// A graph file with its run configuration. Not copyable: others refer to its graph.
class Workload {
 public:
  Workload(const std::string& path, const StepOptions& options,
           Unconfigured unconfigured = Unconfigured::kRefuse);
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  const Graph& graph() const { return graph_; }
  const RunSpec& spec() const { return spec_; }
  const std::string& name() const { return name_; }  // file name without folders

  // The step's request with the feeds of step number `step`.
  exec::RunRequest StepRequest(int64_t step) const;
  // Runs the init targets, once.
  exec::RunRequest InitRequest() const;
  CompileRequest StepCompileRequest() const;
  // Shapes and values with the step's feeds.
  const GraphInfo& info() const { return *info_; }
  PlacerOptions placer() const { return placer_; }
  std::optional<uint64_t> seed() const { return seed_; }
  const exec::CudaOptions& cuda() const { return cuda_; }

 private:
  std::string name_;
  Graph graph_;
  RunSpec spec_;
  std::unique_ptr<GraphInfo> info_;
  PlacerOptions placer_;
  std::optional<uint64_t> seed_;
  exec::CudaOptions cuda_;
};

// A graph under a strategy: what `compare` calls a row.
struct PlacedGraph {
  const Workload* workload = nullptr;
  std::string strategy;
  Placement placement;
};

// `strategy` is a name, @placement.json or exec:PROGRAM. Throws what PlaceByStrategy and PlaceByProgram
// throw.
PlacedGraph Place(const Workload& workload, const std::string& strategy, const Machine& machine,
                  const CostModel& costs, const PlaceOptions& options = {});

// Dtypes and shapes of what a node reads.
std::vector<TensorInfo> InputInfos(const Graph& graph, const GraphInfo& info, int node);
// "a,b,c" -> a, b, c.
std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace lanescope::cli
