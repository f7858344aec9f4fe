#include "cli/workload.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/external_strategy.h"
#include "cli/print.h"
#include "core/error.h"
#include "core/graph_io.h"
#include "core/step_request.h"
#include "exec/cuda_module.h"
#include "exec/gpu_machine.h"

namespace lanescope::cli {
namespace {

int UsableCores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// "x:0" and "x" are one tensor.
std::string_view WithoutFirstOutput(std::string_view name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

void ReplaceFeed(const std::string& text, RunSpec* spec) {
  const size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  for (const auto& [configured, old] : spec->feeds) {
    if (WithoutFirstOutput(configured) == WithoutFirstOutput(name)) name = configured;
  }
  FeedSpec feed;
  feed.values = ReadNpy(text.substr(equals + 1));
  feed.dtype = feed.values.dtype();
  feed.shape = feed.values.shape();
  spec->feeds[name] = std::move(feed);
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

// Empty for a good --feed.
std::string CheckFeed(const std::string& text) {
  const size_t equals = text.find('=');
  const bool good = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
  return good ? "" : fmt::format("'{}' is not of the form NAME=file.npy", text);
}

constexpr std::string_view kProgramPrefix = "exec:";

}  // namespace

void MachineOptions::Add(CLI::App* command) {
  command->add_option(
      "--machine", file,
      "Machine file (JSON), or `physical`: the GPUs of this computer; default: those if there "
      "are two or more, else two virtual GPUs");
  command
      ->add_option("--memory-fraction", memory_fraction,
                   "Share of each physical GPU's memory that tensors may take")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--memory-limit", memory_limit,
                      "Memory of each physical GPU that tensors may take, e.g. 4GiB");
}

Machine MachineOptions::LoadPhysical() const {
  std::string reason;
  exec::CudaModule* module = exec::LoadCudaModule(&reason);
  if (module == nullptr) Throw(Code::kFailedPrecondition, "no physical GPU can be used: {}", reason);
  exec::GpuMemoryOptions memory;
  memory.fraction = memory_fraction;
  if (!memory_limit.empty()) memory.limit_bytes = ParseBytes(memory_limit);
  std::vector<std::string> notes;
  Machine machine = exec::DetectGpus(module, memory, &notes);
  for (const std::string& note : notes) PrintNote("note: {}\n", OneLine(note));
  if (machine.Gpus().empty())
    Throw(Code::kFailedPrecondition, "no physical GPU can be used: all are left out");
  return machine;
}

Machine MachineOptions::Load() const {
  if (file == kPhysical) return LoadPhysical();
  std::string reason;
  if (file.empty() && exec::CountVisibleGpus(&reason) >= 2 && exec::LoadCudaModule(&reason) != nullptr)
    return LoadPhysical();
  if (memory_fraction > 0 || !memory_limit.empty()) {
    Throw(Code::kInvalidArgument,
          "a memory fraction or limit is for the GPUs found here; a machine file says each device's memory");
  }
  if (!file.empty()) return ReadMachine(file);
  return VirtualMachine(2, std::max(1, UsableCores() / 2));
}

void StepOptions::Add(CLI::App* command) {
  command->add_option("--feed", feeds, "NAME=file.npy: feed this tensor instead of the configured one")
      ->check(CheckFeed)
      ->allow_extra_args(false);
  command->add_option("--fetch", fetches, "Tensor to return (replaces the configured fetches)")
      ->allow_extra_args(false);
  command->add_option("--target", targets, "Node to run for its effect (replaces the configured targets)")
      ->allow_extra_args(false);
  command->add_flag("--no-soft-placement", no_soft_placement, "Fail where a requested device cannot be used");
}

void StepOptions::AddGpu(CLI::App* command) {
  command->add_flag("!--no-cuda-graph", cuda.graphs, "On GPUs: launch every kernel by itself");
  command->add_flag("--tf32", cuda.allow_tf32, "On GPUs: round the factors of float32 products to TF32");
  command->add_flag("!--no-memory-growth", cuda.memory_growth,
                    "On GPUs: take each device's whole memory limit at once");
}

std::string StrategyNames() {
  std::string names = "Strategy: ";
  for (const Strategy& strategy : Strategies()) names += std::string(strategy.name) + ", ";
  return names + "@placement.json, or exec:PROGRAM";
}

void PlaceOptions::Add(CLI::App* command) {
  command->add_option("--strategy-timeout", program_timeout_s, "Seconds that an exec:PROGRAM may take")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}));
  std::string footer = "Strategies\n";
  for (const Strategy& strategy : Strategies())
    footer += fmt::format("  {:<18} {}\n", strategy.name, strategy.summary);
  footer += fmt::format("  {:<18} {}\n", "@placement.json",
                        "a file as written by `place -o`; nodes it does not name go as in annotated");
  footer +=
      fmt::format("  {:<18} {}\n", "exec:PROGRAM",
                  "a program: graph, costs and machine as JSON on its input, a placement on its output");
  command->footer(footer);
}

Workload::Workload(const std::string& path, const StepOptions& options, Unconfigured unconfigured)
    : name_(std::filesystem::path(path).filename().string()),
      graph_(ReadGraph(path)),
      spec_(ReadRunSpecBeside(path)) {
  for (const std::string& feed : options.feeds) ReplaceFeed(feed, &spec_);
  CheckPolynomials(spec_);
  if (!options.fetches.empty()) spec_.fetches = options.fetches;
  if (!options.targets.empty()) spec_.targets = options.targets;
  seed_ = options.seed;
  cuda_ = options.cuda;
  for (auto& [name, feed] : spec_.feeds) {
    if (!feed.has_seed && seed_.has_value()) feed.seed = *seed_;
  }
  if (spec_.fetches.empty() && spec_.targets.empty()) {
    if (unconfigured == Unconfigured::kWholeGraph) {
      for (const std::string& note : ConfigureWholeGraph(graph_, &spec_))
        PrintNote("note: {}; a run configuration or --feed says it better\n", note);
    } else {
      Throw(Code::kInvalidArgument,
            "'{}' has no run configuration beside it that names fetches or targets; use --fetch or --target",
            path);
    }
  }
  info_ = std::make_unique<GraphInfo>(InferGraph(graph_, StepCompileRequest().feeds));
  placer_.soft_placement = !options.no_soft_placement;
}

exec::RunRequest Workload::StepRequest(int64_t step) const {
  return {MakeFeeds(spec_, step), spec_.fetches, spec_.targets};
}

exec::RunRequest Workload::InitRequest() const { return {{}, {}, spec_.init}; }

CompileRequest Workload::StepCompileRequest() const { return StepRequestOf(graph_, spec_); }

PlacedGraph Place(const Workload& workload, const std::string& strategy, const Machine& machine,
                  const CostModel& costs, const PlaceOptions& options) {
  PlacerOptions placer = workload.placer();
  std::vector<int> order;
  if (options.order != nullptr) placer.log = [&](int node, int) { order.push_back(node); };
  const StrategyInput input{workload.graph(), workload.info(), machine, costs, placer};
  PlacedGraph placed{&workload, strategy, {}};
  if (strategy.starts_with(kProgramPrefix)) {
    const auto program = std::string_view(strategy).substr(kProgramPrefix.size());
    placed.placement = PlaceByProgram(program, workload, machine, costs, PlaceAnnotated(input),
                                      1000 * options.program_timeout_s);
  } else {
    placed.placement = PlaceByStrategy(strategy, input);
  }
  if (options.order != nullptr) {
    // A strategy may place several times; the last time counts.
    const auto nodes = std::min(order.size(), static_cast<size_t>(workload.graph().num_nodes()));
    options.order->assign(order.end() - static_cast<ptrdiff_t>(nodes), order.end());
  }
  return placed;
}

std::vector<TensorInfo> InputInfos(const Graph& graph, const GraphInfo& info, int node) {
  std::vector<TensorInfo> inputs;
  for (const Endpoint& input : graph.node(node).inputs) inputs.push_back(info.of(input));
  return inputs;
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

}  // namespace lanescope::cli
