// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/interrupt.h"
#include "cli/print.h"
#include "core/collective/collective_schedule.h"
#include "core/machine/cluster_tasks.h"
#include "core/strategies/graph_strategy.h"
#include "core/strategies/strategy.h"
#include "study/job/job.h"
#include "study/job/mpi.h"
#include "study/measure/run_capture.h"
#include "study/workload/queue_change.h"

namespace lanescope::cli {
namespace {

// Empty for a good --feed.
std::string CheckFeed(const std::string& text) {
  const size_t equals = text.find('=');
  const bool good = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
  return good ? "" : fmt::format("'{}' is not of the form NAME=file.npy", text);
}

// Empty for a good --trips.
std::string CheckTrips(const std::string& text) {
  const size_t equals = text.rfind('=');
  const std::string times = equals == std::string::npos ? "" : text.substr(equals + 1);
  const bool number =
      !times.empty() && times.size() <= 6 && times.find_first_not_of("0123456789") == std::string::npos;
  if (equals == 0 || !number || std::stoll(times) > 1 << 19) return "must be LOOP=N, with N from 0 to 524288";
  return "";
}

}  // namespace

void MachineOptions::Add(CLI::App* command) {
  command->add_option(
      "--machine", file,
      "Machine file (JSON), or `physical`: the GPUs of this computer; default: those if there "
      "are two or more, else two virtual GPUs");
  command->add_option(
      "--cluster", cluster,
      "Tasks with the devices of the machine each: ps=HOST:N,worker=HOST:N,HOST:N, N of them on a "
      "host; rank r of mpirun is the r-th");
  command
      ->add_option("--memory-fraction", memory_fraction,
                   "Share of each physical GPU's memory that tensors may take")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--memory-limit", memory_limit,
                      "Memory of each physical GPU that tensors may take, e.g. 4GiB");
  command->add_option("--visible-devices", visible_devices,
                      "GPUs of the machine that are seen, in this order, e.g. 1,0");
  command->add_option(
      "--logical-devices", logical_devices,
      "Cut GPUs into parts with so many MiB: 1024,2048;4096 is two of the first GPU, one of the second; "
      "1024@0,1024@-1 says the priority of their streams, too");
}

Machine MachineOptions::Load() const {
  const bool is_job = !cluster.empty() && !study::RankName().empty();
  exec::Transport* const ranks = is_job ? study::WorldTransport() : nullptr;
  if (ranks != nullptr) study::RequireHosts(ParseClusterTasks(cluster), ranks);
  return study::LoadMachine(*this, NoteLine, ranks);
}

void StepOptions::Add(CLI::App* command, study::Unconfigured unconfigured_step) {
  unconfigured = unconfigured_step;
  note = NoteLine;
  command->add_option("--feed", feeds, "NAME=file.npy: feed this tensor instead of the configured one")
      ->check(CheckFeed)
      ->allow_extra_args(false);
  command->add_option("--fetch", fetches, "Tensor to return (replaces the configured fetches)")
      ->allow_extra_args(false);
  command->add_option("--target", targets, "Node to run for its effect (replaces the configured targets)")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--queue", queues,
          "Change a queue of the graph: QUEUE.threads=N that fill it, QUEUE.capacity=N, QUEUE.batch=N "
          "elements taken at once")
      ->check(study::CheckQueueChange)
      ->allow_extra_args(false);
  command
      ->add_option_function<std::vector<std::string>>(
          "--trips", [this](const std::vector<std::string>& given) { NoteTrips(given); },
          "LOOP=N: how often the body of a loop runs whose end data decide (in run: at most)")
      ->check(CheckTrips)
      ->allow_extra_args(false);
  command
      ->add_option(
          "--all-reduce", all_reduce,
          "How all-reduces are done: ring, tree, one-device, hierarchical (copies), or nccl on GPUs; "
          "default: what the graph asks for, NCCL where it is installed, else what costs least on the links")
      ->check(CLI::IsMember(CollectiveByNames()));
  command->add_flag_callback(
      "--no-soft-placement", [this] { soft_placement = false; },
      "Fail where a requested device cannot be used");
  CLI::Option* const fusion = command->add_flag(
      "--fusion", fuse, "Let nodes share launches; on physical GPUs where NVRTC is installed");
  command
      ->add_flag_callback(
          "--no-fusion", [this] { fuse = false; },
          "Let every node have a launch of its own, as is the default")
      ->excludes(fusion);
}

study::WorkloadOptions StepOptions::On(const Machine& here) const {
  study::WorkloadOptions step = *this;
  step.joint_launches = study::TakesJointLaunches(here, all_reduce);
  step.machine = &here;
  return step;
}

void StepOptions::NoteTrips(const std::vector<std::string>& given) {
  for (const std::string& text : given) {
    const size_t equals = text.rfind('=');
    trips[text.substr(0, equals)] = std::stoll(text.substr(equals + 1));
  }
}

void RequireNotRead(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code missing;
    if (output.empty() || input.empty() || !std::filesystem::equivalent(output, input, missing)) continue;
    Throw(Code::kInvalidArgument, "'{}' is read, and would be lost; name another file to write", output);
  }
}

void AddGpuOptions(CLI::App* command, exec::DeviceOptions* devices) {
  command->add_flag("!--no-cuda-graph", devices->graphs, "On GPUs: launch every kernel by itself");
  command->add_flag("--tf32", devices->allow_tf32, "On GPUs: round the factors of float32 products to TF32");
  command->add_flag("--any-algorithm", devices->any_algorithm,
                    "On GPUs: allow convolutions whose sums come in changing orders");
  command->add_flag("!--no-memory-growth", devices->memory_growth,
                    "On GPUs: take each device's whole memory limit at once");
}

void AddProfileOption(CLI::App* command, std::string* profile) {
  std::vector<std::string> names(kCaptureModeNames.begin(), kCaptureModeNames.end());
  names.emplace_back(study::kAutomaticCapture);
  command
      ->add_option(
          "--profile", *profile,
          "What of the GPUs the trace holds: off: commands; kernels: kernels, copies, memory sets; full: API "
          "calls, synchronizations and overheads too; auto: kernels where CUPTI can be had, else commands")
      ->capture_default_str()
      ->check(CLI::IsMember(std::move(names)));
}

std::string StrategyNames() {
  std::string names = "Strategy: ";
  for (const Strategy& strategy : Strategies()) names += std::string(strategy.name) + ", ";
  for (const GraphStrategy& strategy : GraphStrategies()) names += std::string(strategy.name) + ", ";
  return names + "a product as data-parallel+tensor-parallel:2, @placement.json, or exec:PROGRAM";
}

PlaceOptions::PlaceOptions() { cancellation = &Interruption(); }

void PlaceOptions::Add(CLI::App* command) {
  command->add_option("--strategy-timeout", program_timeout_s, "Seconds that an exec:PROGRAM may take")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}));
  command->footer("Strategies\n  what each does: lanescope place --help\n");
}

void AddStrategyTable(CLI::App* command) {
  std::string footer = "Strategies\n";
  for (const Strategy& strategy : Strategies())
    footer += fmt::format("  {:<22} {}\n", strategy.name, strategy.summary);
  for (const GraphStrategy& strategy : GraphStrategies())
    footer += fmt::format("  {:<22} {}\n", strategy.name, strategy.summary);
  footer += fmt::format("  {:<18} {}\n", "NAME+NAME:N",
                        "a product: each GPU of the first strategy is N that the second shares it out to");
  footer += fmt::format("  {:<18} {}\n", "@placement.json",
                        "a file as written by `place -o`; nodes it does not name go as in annotated");
  footer +=
      fmt::format("  {:<18} {}\n", "exec:PROGRAM",
                  "a program: graph, costs and machine as JSON on its input, a placement on its output");
  command->footer(footer);
}

void PlaceOptions::AddWire(CLI::App* command) {
  command
      ->add_option_function<std::string>(
          "--wire", [this](const std::string& name) { wire = ParseWireFormat(name).value(); },
          "What float32 tensors of 4 KiB or more become between tasks: float32, bfloat16 or int8")
      ->check(CLI::IsMember({"float32", "bfloat16", "int8"}))
      ->default_str("float32");
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
