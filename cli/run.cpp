#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/recorded_run.h"
#include "cli/workload.h"
#include "core/error.h"
#include "traces/statistics.h"
#include "traces/summary.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

constexpr int64_t kMaxPrintedElements = 10000;

struct Options {
  std::string graph, strategy = "annotated", trace, save_fetches;
  MachineOptions machine;
  StepOptions step;
  int steps = 10, warmup = 2;
  int64_t timeout_ms = 0;
  bool as_json = false;
};

json ElementJson(const Tensor& tensor, int64_t i) {
  const auto number = [](double x) { return std::isfinite(x) ? json(x) : json(nullptr); };
  switch (tensor.dtype()) {
    case DataType::kFloat:
      return number(tensor.data<float>()[i]);
    case DataType::kDouble:
      return number(tensor.data<double>()[i]);
    case DataType::kBool:
      return tensor.data<bool>()[i];
    case DataType::kString:
      return tensor.data<std::string>()[i];
    default:
      return tensor.IntAt(i);
  }
}

json TensorJson(const std::string& name, const Tensor& tensor) {
  json shape = json::array(), values = json::array();
  for (const Dim dim : tensor.shape().dims()) shape.push_back(dim);
  for (int64_t i = 0; i < std::min(tensor.NumElements(), kMaxPrintedElements); ++i)
    values.push_back(ElementJson(tensor, i));
  return {{"name", name}, {"dtype", NumpyName(tensor.dtype())}, {"shape", shape}, {"values", values}};
}

std::string FileNameOf(const std::string& tensor) {
  std::string name = tensor;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return !(isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'); },
      '_');
  return name;
}

void SaveFetches(const std::string& folder, const std::vector<std::string>& names, int64_t step,
                 const std::vector<Tensor>& fetches) {
  for (size_t i = 0; i < fetches.size(); ++i) {
    WriteNpy(fetches[i], fmt::format("{}/step{:06}_{}.npy", folder, step, FileNameOf(names[i])));
  }
}

void PrintResult(const RecordedRun& run, const Spread& spread, const std::string& trace) {
  const Workload& workload = *run.placed().workload;
  fmt::print("{} placed by {}: {} steps, {} median ({} to {} for the middle half){}\n", workload.name(),
             run.placed().strategy, spread.count, FormatNvprofTime(spread.median),
             FormatNvprofTime(spread.p25), FormatNvprofTime(spread.p75),
             run.oversubscribed() ? ", oversubscribed" : "");
  for (size_t i = 0; i < run.last_fetches().size(); ++i) {
    const Tensor& tensor = run.last_fetches()[i];
    std::string values;
    for (int64_t k = 0; k < std::min<int64_t>(tensor.NumElements(), 8); ++k)
      values += (k == 0 ? "" : " ") + ElementJson(tensor, k).dump();
    fmt::print("  {} {}{} = {}{}\n", workload.spec().fetches[i], DataTypeName(tensor.dtype()),
               tensor.shape().ToString(), values, tensor.NumElements() > 8 ? " ..." : "");
  }
  if (!trace.empty()) fmt::print("recorded as run {} of {}\n", run.run_id(), trace);
}

void Run(const Options& options) {
  Machine machine = options.machine.Load();
  StepOptions step = options.step;
  const Workload workload(options.graph, step);
  const RooflineCost costs;
  std::unique_ptr<TraceWriter> writer;
  if (!options.trace.empty()) writer = std::make_unique<TraceWriter>(options.trace);
  if (!options.save_fetches.empty()) std::filesystem::create_directories(options.save_fetches);
  RecordedRunOptions run_options;
  run_options.keep_events = true;
  run_options.timeout_ns = options.timeout_ms * 1000000;
  RecordedRun run(Place(workload, options.strategy, machine, costs), machine, writer.get(), run_options);
  if (!options.save_fetches.empty()) {
    run.on_step = [&](int64_t number, const std::vector<Tensor>& fetches) {
      SaveFetches(options.save_fetches, workload.spec().fetches, number, fetches);
    };
  }
  try {
    run.WarmUp(options.warmup);
    run.RunSteps(options.steps);
  } catch (const Error& error) {
    run.Finish(error.what());
    if (writer != nullptr) writer->Close();
    throw;
  }
  run.Finish(Interrupted().load() ? "Cancelled: interrupted" : "");
  if (writer != nullptr) writer->Close();
  const auto spread = SpreadOf(run.step_ns());
  if (!spread.has_value()) Throw(Code::kCancelled, "interrupted before the first step was complete");
  if (!options.as_json) return PrintResult(run, *spread, options.trace);
  json fetches = json::array();
  for (size_t i = 0; i < run.last_fetches().size(); ++i)
    fetches.push_back(TensorJson(workload.spec().fetches[i], run.last_fetches()[i]));
  json result;
  result["trace"] = options.trace.empty() ? json(nullptr) : json(options.trace);
  result["run"] = writer != nullptr ? json(run.run_id()) : json(nullptr);
  result["steps"] = run.step_ns().size();
  result["step_ns"] = {{"median", std::llround(spread->median)},
                       {"p25", std::llround(spread->p25)},
                       {"p75", std::llround(spread->p75)},
                       {"min", spread->min},
                       {"max", spread->max}};
  result["oversubscribed"] = run.oversubscribed();
  result["fetches"] = fetches;
  fmt::print("{}\n", result.dump());
}

}  // namespace

void AddRun(CLI::App* app) {
  auto* command = app->add_subcommand("run", "Execute steps of a graph and record a trace");
  auto options = std::make_shared<Options>();
  command->add_option("graph", options->graph, "GraphDef file (.pb, .pbtxt)")->required();
  command->add_option("--strategy", options->strategy, "Strategy, or @placement.json")->capture_default_str();
  command->add_option("--steps", options->steps, "Recorded steps")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000000));
  command->add_option("--warmup", options->warmup, "Steps before that")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000));
  command->add_option("--trace", options->trace, "Trace file (SQLite); runs are appended");
  command->add_option("--save-fetches", options->save_fetches,
                      "Folder for the fetches of every step as .npy files");
  command->add_option("--timeout", options->timeout_ms, "Milliseconds that one step may take")
      ->check(CLI::Range(int64_t{0}, int64_t{86400000}));
  options->machine.Add(command);
  options->step.Add(command);
  command->add_flag("--json", options->as_json, "Print JSON");
  command->callback([options] { Run(*options); });
}

}  // namespace lanescope::cli
