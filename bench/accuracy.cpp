// SPDX-License-Identifier: Apache-2.0
// The scoreboard of predictions: networks, strategies, machines; each measured, calibrated on one run and
// predicted. Not a Google Benchmark.
//
//   bench_accuracy FOLDER            records what is missing in FOLDER (some ten minutes in all), then prints
//   bench_accuracy FOLDER NAME...    only experiments whose names begin so
//   bench_accuracy FOLDER G.pbtxt... other graphs instead (docs/results/accuracy.md names those that are held
//   out) bench_accuracy --seconds N ...   begins no experiment after so long; again, it goes on where it was
//   bench_accuracy --print FOLDER    prints what is there
//   bench_accuracy --trace FILE...   prints what traces of comparisons hold, as those of a GPU: each is
//                                    predicted from its first measured run
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bench/accuracy/networks.h"
#include "bench/accuracy/scores.h"
#include "core/base/error.h"
#include "core/machine/machine.h"
#include "core/schedule/cost.h"
#include "study/compare/comparer.h"
#include "study/measure/recorded_run.h"
#include "study/predict/trace_accuracy.h"
#include "study/workload/placing.h"
#include "study/workload/workload.h"

namespace lanescope::accuracy {
namespace {

struct MachineKind {
  const char* name;
  int gpus, workers;
  double bandwidth;  // of links, bytes per second
  int64_t latency_ns;
};
constexpr MachineKind kMachines[] = {{"2x1", 2, 1, 8e9, 60'000},
                                     {"2x1-slow", 2, 1, 1e9, 200'000},
                                     {"3x1-fast", 3, 1, 10e9, 8'000},
                                     {"4x1", 4, 1, 8e9, 60'000},
                                     {"2x2", 2, 2, 8e9, 60'000}};

constexpr int64_t kMemoryBytes = int64_t{8} << 30;  // a step of ResNet-50 does not fit into 2 GiB

// Every network on the first machine, and each on two of the others in turn.
struct Plan {
  std::string name, graph;
  const MachineKind* machine;
};

Machine MachineOf(const MachineKind& kind) {
  Machine machine = VirtualMachine(kind.gpus, kind.workers);
  for (LinkSpec& link : machine.links) {
    link.bandwidth = kind.bandwidth;
    link.latency_ns = kind.latency_ns;
  }
  for (DeviceSpec& device : machine.devices) device.memory_bytes = kMemoryBytes;
  return machine;
}

std::vector<Plan> PlanAll(const std::string& folder, const std::vector<std::string>& others) {
  const std::string samples = LANESCOPE_SOURCE_DIR "/samples/graphs/";
  std::vector<std::pair<std::string, std::string>> graphs;
  for (const std::string& path : others) graphs.emplace_back(std::filesystem::path(path).stem(), path);
  if (others.empty()) {
    for (const char* sample : {"deepconn_single", "cifar10_single", "polynomial"})
      graphs.emplace_back(sample, samples + sample + ".pbtxt");
    for (const std::string& name : NetworkNames()) graphs.emplace_back(name, WriteNetwork(name, folder));
  }
  std::vector<Plan> plans;
  for (size_t g = 0; g < graphs.size(); ++g) {
    const size_t more = std::size(kMachines) - 1;
    for (const size_t m : {size_t{0}, 1 + g % more, 1 + (g + 2) % more}) {
      const MachineKind& machine = kMachines[m];
      plans.push_back({fmt::format("{}-{}", graphs[g].first, machine.name), graphs[g].second, &machine});
    }
  }
  return plans;
}

// Sets how many rounds of every row are measured: about half a minute in all, of steps that last up to 0.2 s;
// of short ones less.
struct Effort {
  int steps = 8, rounds = 5;
};
Effort EffortFor(const Plan& plan, const Machine& machine) {
  const study::Workload workload(plan.graph);
  study::RecordedRun run(study::Place(workload, "single", machine, RooflineCost()), machine, nullptr, {});
  const double seconds = 1e-9 * static_cast<double>(run.QuickestStep(0));
  Effort effort;
  if (seconds > 0.2) effort.rounds = 3;
  if (seconds < 0.01) effort.rounds = 10;
  constexpr int kRows = 7, kBeside = 1;  // step that warms up
  const double fit = 30 / (seconds * kRows * effort.rounds) - kBeside;
  effort.steps = static_cast<int>(std::clamp(fit, 2.0, 8.0));
  return effort;
}

// A trace under its name is whole: until then it is called otherwise.
void Record(const Plan& plan, const std::string& trace) {
  const std::string unfinished = trace + ".part";
  std::filesystem::remove(unfinished);
  study::ComparisonRequest request;
  request.machine = MachineOf(*plan.machine);
  request.graphs = {{plan.graph,
                     {"single", "tower-split", "alternating", "round-robin", "heft", "m-etf",
                      "exec:python3 " LANESCOPE_SOURCE_DIR "/bench/accuracy/halves.py"}}};
  const Effort effort = EffortFor(plan, request.machine);
  request.steps = effort.steps;
  request.rounds = effort.rounds;
  request.repeats = 1;
  request.trace = unfinished;
  study::Comparer comparer(std::move(request));
  const study::Comparison comparison = comparer.Run();
  for (const study::ComparisonRow& row : comparison.rows) {
    if (row.failed) fmt::print(stderr, "  {}: {}\n", row.label(), row.failed->message);
  }
  std::filesystem::rename(unfinished, trace);
}

bool IsWanted(const std::string& name, const std::vector<std::string>& prefixes) {
  if (prefixes.empty()) return true;
  for (const std::string& prefix : prefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

void RecordAll(const std::string& folder, const std::vector<std::string>& graphs,
               const std::vector<std::string>& prefixes, double most_seconds) {
  std::filesystem::create_directories(folder);
  const std::vector<Plan> plans = PlanAll(folder, graphs);
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < plans.size(); ++i) {
    const std::string trace = fmt::format("{}/{}.db", folder, plans[i].name);
    if (!IsWanted(plans[i].name, prefixes) || std::filesystem::exists(trace)) continue;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (passed.count() >= most_seconds) {
      fmt::print(stderr, "[{:.0f} s] not recorded: {} and what follows it\n", passed.count(), plans[i].name);
      return;
    }
    fmt::print(stderr, "[{:.0f} s] {} of {}: {}\n", passed.count(), i + 1, plans.size(), plans[i].name);
    // One that asks for more memory than this machine has takes nothing from the others.
    try {
      Record(plans[i], trace);
    } catch (const Error& error) {
      fmt::print(stderr, "  not recorded: {}\n", error.what());
    }
  }
}

// The second graph or machine of a file is another experiment.
void AddExperiments(const std::filesystem::path& trace, std::vector<Experiment>* experiments) {
  const size_t first = experiments->size();
  for (study::RunAccuracy& run : study::PredictRuns(trace, {.ablate = true, .replay = true})) {
    const auto number = static_cast<size_t>(run.experiment);
    while (experiments->size() <= first + number) {
      const size_t of_file = experiments->size() - first;
      experiments->push_back(
          {of_file == 0 ? trace.stem().string() : fmt::format("{} ({})", trace.stem().string(), of_file + 1),
           {}});
    }
    (*experiments)[first + number].runs.push_back(std::move(run));
  }
}

std::vector<Experiment> ReadAll(const std::string& folder, const std::vector<std::string>& prefixes) {
  std::vector<std::filesystem::path> traces;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".db" && IsWanted(entry.path().stem(), prefixes))
      traces.push_back(entry.path());
  }
  std::sort(traces.begin(), traces.end());
  std::vector<Experiment> experiments;
  for (const std::filesystem::path& trace : traces) AddExperiments(trace, &experiments);
  return experiments;
}

std::vector<Experiment> ReadTraces(const std::vector<std::string>& files) {
  std::vector<Experiment> experiments;
  for (const std::string& file : files) AddExperiments(file, &experiments);
  return experiments;
}

int Main(std::vector<std::string> arguments) {
  if (arguments.size() > 1 && arguments.front() == "--trace") {
    arguments.erase(arguments.begin());
    PrintScores(ReadTraces(arguments), stdout);
    return 0;
  }
  double most_seconds = std::numeric_limits<double>::infinity();
  if (arguments.size() > 1 && arguments.front() == "--seconds") {
    most_seconds = std::stod(arguments[1]);
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  const bool record = !(arguments.size() > 1 && arguments.front() == "--print");
  if (!record) arguments.erase(arguments.begin());
  if (arguments.empty() || arguments.front().starts_with("-")) {
    fmt::print(stderr,
               "usage: bench_accuracy [--print | --seconds N] FOLDER [NAME... | GRAPH.pbtxt...]\n"
               "       bench_accuracy --trace FILE...\n");
    return 2;
  }
  const std::string folder = arguments.front();
  arguments.erase(arguments.begin());
  const auto names = std::stable_partition(arguments.begin(), arguments.end(),
                                           [](const std::string& text) { return text.ends_with(".pbtxt"); });
  const std::vector<std::string> graphs(arguments.begin(), names);
  arguments.erase(arguments.begin(), names);
  if (record) RecordAll(folder, graphs, arguments, most_seconds);
  PrintScores(ReadAll(folder, arguments), stdout);
  return 0;
}

}  // namespace
}  // namespace lanescope::accuracy

int main(int argc, char** argv) {
  try {
    return lanescope::accuracy::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
