// SPDX-License-Identifier: Apache-2.0
#include "cli/plans.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/interrupt.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "core/base/error.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/record/recorder.h"
#include "sims/plans/formats.h"
#include "sims/plans/launch_text.h"
#include "sims/plans/report.h"
#include "study/base/json_text.h"
#include "study/compare/plan_trial.h"
#include "study/predict/recorded_plan.h"
#include "study/workload/model_shape.h"
#include "study/workload/torch_modules.h"

namespace lanescope::cli {
namespace {

namespace plans = sims::plans;

const char* AttentionText(const plans::ModelShape& model) {
  return model.causal ? "" : " (tokens attend to all others)";
}

struct Asked {
  plans::ModelShape model;
  plans::PlanMachine machine;
};

PlanOptions WithSequence(PlanOptions options, const plans::ModelShape& model) {
  options.sequence = plans::SequenceOf(model, options.sequence);
  return options;
}

Asked Read(const PlanOptions& options) {
  plans::ModelShape model = study::ReadModelShape(options.model);  // first: another graph has no plan at all
  if (options.machine.empty())
    Throw(Code::kInvalidArgument, "a plan is for a machine by name: --machine dgx-h100:64");
  if (options.global_batch == 0)
    Throw(Code::kInvalidArgument, "a plan is for a batch: --global-batch N, with N sequences in a step");
  return {std::move(model), plans::NamedMachine(options.machine)};
}

std::string BytesText(double bytes) { return FormatBytes(static_cast<int64_t>(std::min(bytes, 0x1p62))); }
std::string SecondsText(double seconds) { return TimeText(seconds * 1e9); }

// Models of torchtitan and code of parallelize_module give each GPU whole heads of its own; Megatron gives
// several of them the same.
void CheckOwnHeads(const PlanOptions& options, const plans::Plan& plan, const plans::ModelShape& model) {
  if (options.launch == "megatron" || plan.tp <= model.KvHeads()) return;
  Throw(Code::kInvalidArgument, "{} cannot share {} heads of keys and values among tp={} GPUs: take tp={}",
        options.launch, model.KvHeads(), plan.tp, model.KvHeads());
}

std::string LaunchText(const PlanOptions& options, const plans::Plan& plan, const plans::ModelShape& model) {
  CheckOwnHeads(options, plan, model);
  if (options.launch == "torchtitan")
    return plans::TorchtitanText(plan, model, options.global_batch, options.sequence);
  if (options.launch == "megatron")
    return plans::MegatronText(plan, model, options.global_batch, options.sequence);
  return plans::PyTorchText(plan, study::TorchModulesOf(options.model, model, plan.tp),
                            options.global_batch / (plan.micro * plan.dp));
}

// The best plans run here, as many as were asked for.
std::vector<study::PlanTrial> TryBest(const PlanOptions& options, const plans::FoundPlans& found) {
  std::vector<study::PlanTrial> trials;
  const auto count = std::min(found.fitting.size(), static_cast<size_t>(options.verify));
  for (size_t i = 0; i < count; ++i)
    trials.push_back(study::TryPlan(found.fitting[i].plan, options.model, options.steps, &Interruption()));
  return trials;
}

void PrintTrials(const std::vector<study::PlanTrial>& trials, const plans::FoundPlans& found,
                 const std::string& machine) {
  for (size_t i = 0; i < trials.size(); ++i) {
    const study::PlanTrial& trial = trials[i];
    const plans::FoundPlan& plan = found.fitting[i];
    if (trial.how.strategy.empty()) {
      Print("{}: not run here: {}\n", plans::PlanText(plan.plan), OneLine(trial.how.why_not));
      continue;
    }
    Print(
        "{}: {} a step measured here as {} on {} virtual GPUs, {} predicted on {}; loss {:.6g}, of one "
        "device {:.6g}\n",
        plans::PlanText(plan.plan), TimeText(trial.step_ns), trial.how.strategy, trial.devices,
        SecondsText(plan.step.seconds()), machine, trial.loss, trial.whole);
  }
}

nlohmann::json TrialsJson(const std::vector<study::PlanTrial>& trials, const plans::FoundPlans& found) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < trials.size(); ++i) {
    const study::PlanTrial& trial = trials[i];
    nlohmann::json& one = list.emplace_back();
    one["plan"] = plans::PlanText(found.fitting[i].plan);
    if (trial.how.strategy.empty()) {
      one["not_run"] = trial.how.why_not;
      continue;
    }
    one.update({{"strategy", trial.how.strategy},
                {"virtual_gpus", trial.devices},
                {"measured_ns", static_cast<int64_t>(trial.step_ns)},
                {"predicted_s", found.fitting[i].step.seconds()},
                {"loss", trial.loss},
                {"loss_of_one_device", trial.whole}});
  }
  return list;
}

void PrintParts(const plans::PlanStep& step) {
  const std::pair<const char*, double> parts[] = {{"matrix products", step.products},
                                                  {"attention", step.attention},
                                                  {"passes over memory", step.passes},
                                                  {"collectives within layers", step.exchanges},
                                                  {"launches beyond kernels", step.launches},
                                                  {"shards gathered and scattered", step.shards},
                                                  {"bubble", step.bubble},
                                                  {"messages between stages", step.messages},
                                                  {"gradients over replicas", step.gradients},
                                                  {"optimizer", step.update},
                                                  {"last of the nodes", step.stragglers}};
  TextTable table;
  table.Name("Part").Number("Time").Number("Share");
  for (const auto& [name, seconds] : parts) {
    if (seconds > 0) table.Row({name, SecondsText(seconds), PercentText(seconds / step.seconds())});
  }
  PrintText(table.Take(LineWidth()));
}

void PrintMemory(const std::vector<plans::PlanMemory>& stages, const plans::PlanMachine& machine) {
  TextTable table;
  table.Number("Stage").Number("Memory").Number("Weights").Number("Gradients").Number("Optimizer");
  table.Number("Activations").Number("Logits").Number("Gathered");
  for (size_t i = 0; i < stages.size(); ++i) {
    const plans::PlanMemory& m = stages[i];
    table.Row({fmt::format("{}", i), BytesText(m.bytes()), BytesText(m.weights), BytesText(m.gradients),
               BytesText(m.optimizer), BytesText(m.activations), BytesText(m.logits), BytesText(m.gathered)});
  }
  PrintText("\nMemory of a GPU by stage:\n" + table.Take(LineWidth()));
  Print("Beside it {} of CUDA and NCCL; a GPU has {}\n", BytesText(plans::kOutsideBytes),
        BytesText(machine.memory_bytes));
}

// Empty for a whole number from 1 on, in digits.
std::string CheckWhole(const std::string& text, int64_t most) {
  const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && !text.empty() && text.size() < 16 && std::stoll(text) >= 1 && std::stoll(text) <= most)
    return "";
  return fmt::format("must be a whole number from 1 to {}, not '{}'", most, text);
}

const std::set<std::string>& OfPlansAlone() {
  static const std::set<std::string> kNames = {"--global-batch", "--sequence", "--precision",
                                               "--kernels",      "--loss",     "--launch"};
  return kNames;
}

plans::PlanSearch SearchOf(const PlanOptions& options) {
  const plans::Plan formats = plans::ParsePlan(
      fmt::format("precision={},kernels={},loss={}", options.precision, options.kernels, options.loss));
  return {.global_batch = options.global_batch,
          .sequence = options.sequence,
          .precision = formats.precision,
          .kernels = formats.kernels,
          .loss = formats.loss,
          .largest_micro = options.largest_micro};
}

}  // namespace

void SearchPlans(const PlanOptions& asked) {
  const auto [model, machine] = Read(asked);
  const PlanOptions options = WithSequence(asked, model);
  const plans::PlanSearch search = SearchOf(options);
  const int64_t start = NowNs();
  const plans::FoundPlans found = plans::SearchPlans(model, machine, search);
  const int64_t taken_ns = NowNs() - start;
  const plans::Plan& best = found.fitting.front().plan;
  if (!options.launch.empty()) return PrintText(LaunchText(options, best, model));
  const std::vector<study::PlanTrial> trials = TryBest(options, found);
  if (options.as_json) {
    const std::string report =
        plans::SearchReport(model, machine, search, found, static_cast<double>(taken_ns) * 1e-9,
                            study::TorchModulesOf(options.model, model, best.tp));
    if (trials.empty()) return PrintJson(report);
    nlohmann::json with_trials = nlohmann::json::parse(report);
    with_trials["verified"] = TrialsJson(trials, found);
    return PrintJson(study::JsonText(with_trials));
  }
  Print("{}, {:.1f}e9 parameters{}, on {}: {} plans looked at, {} fit\n\n", model.name,
        plans::Parameters(model) * 1e-9, AttentionText(model), machine.name, found.tried,
        found.fitting.size());
  const double residual = plans::StepResidual(model);
  TextTable table;
  table.Name("Plan").Number("Step").Number("Low").Number("High").Number("Memory").Text("Most of it");
  for (size_t i = 0; i < std::min(plans::kShownPlans, found.fitting.size()); ++i) {
    const plans::FoundPlan& one = found.fitting[i];
    const double step = one.step.seconds();
    const auto [part, time] = one.step.largest();
    table.Row({plans::PlanText(one.plan), SecondsText(step), SecondsText(step * (1 - residual)),
               SecondsText(step * (1 + residual)), BytesText(one.fullest.memory.bytes()),
               fmt::format("{} {}", part, PercentText(time / step, 0))});
  }
  const double bound =
      plans::LowerBoundSeconds(model, search.precision, machine, search.global_batch, search.sequence);
  table.Row({"lower bound: the model's arithmetic at the GPUs' peak", SecondsText(bound)});
  PrintText(table.Take(LineWidth()));
  Print("\nThe best makes {:.0f} tokens a second and GPU.\n",
        search.global_batch * search.sequence / found.fitting.front().step.seconds() / machine.gpus());
  PrintTrials(trials, found, machine.name);
}

void SimulatePlan(const PlanOptions& asked) {
  const auto [model, machine] = Read(asked);
  const PlanOptions options = WithSequence(asked, model);
  const plans::Plan plan = plans::ParsePlan(options.plan);
  plans::CheckPlan(plan, model, options.global_batch, options.sequence, machine.gpus());
  plans::CheckFormats(machine, plan);
  if (!options.trace.empty()) {
    const study::Cancellation::Watch in_order(&Interruption());
    study::RecordPlan(options.trace, {model, plan, machine, options.global_batch, options.sequence},
                      &Interruption());
  }
  if (!options.launch.empty()) return PrintText(LaunchText(options, plan, model));
  if (options.as_json)
    return PrintJson(plans::PlanReport(model, plan, machine, options.global_batch, options.sequence));
  const plans::PlanStep step =
      plans::EstimateStep(model, plan, machine, options.global_batch, options.sequence);
  const double seconds = step.seconds(), residual = plans::StepResidual(model);
  Print("{}, {:.1f}e9 parameters{}, on {}\n{}\n\n", model.name, plans::Parameters(model) * 1e-9,
        AttentionText(model), machine.name, plans::PlanText(plan));
  Print("Step, simulated: {}, of ten nine within {} to {}\n", SecondsText(seconds),
        SecondsText(seconds * (1 - residual)), SecondsText(seconds * (1 + residual)));
  Print("{:.0f} tokens a second and GPU\n\n",
        options.global_batch * options.sequence / seconds / machine.gpus());
  PrintParts(step);
  PrintMemory(plans::MemoryByStage(model, plan, options.global_batch, options.sequence), machine);
  const plans::FullestStage fullest =
      plans::FullestStageOf(model, plan, options.global_batch, options.sequence);
  const double missing = plans::MissingBytes(fullest, machine);
  if (missing > 0) {
    Print("It does not fit: stage {} takes {} more than a GPU has, and most of it is {}\n", fullest.stage,
          BytesText(missing), fullest.memory.largest().first);
  }
}

void PlanOptions::AddBatch(CLI::App* command) {
  command->add_option("--global-batch", global_batch, "Sequences of a step, for plans")
      ->check([](const std::string& text) { return CheckWhole(text, 10'000'000); });
  command
      ->add_option("--sequence", sequence,
                   "Tokens of a sequence, for plans (default: as many as the graph has, or else 4096)")
      ->check([](const std::string& text) { return CheckWhole(text, 100'000'000); });
  command
      ->add_option("--launch", launch, "Print the plan as arguments of this program, or as code of PyTorch")
      ->check(CLI::IsMember({"torchtitan", "megatron", "pytorch"}));
}

void PlanOptions::AddSearch(CLI::App* command) {
  command->add_option("--precision", precision, "Number format of products, for plans")
      ->capture_default_str()
      ->check(CLI::IsMember({"bf16", "pure-bf16", "fp8", "fp8-row", "fp8-block", "mxfp8", "nvfp4"}));
  command->add_option("--kernels", kernels, "Who writes the kernels between products, for plans")
      ->capture_default_str()
      ->check(CLI::IsMember({"eager", "compiled", "fused"}));
  command->add_option("--loss", loss, "fused: a loss that is one kernel on logits in bf16, for plans")
      ->capture_default_str()
      ->check(CLI::IsMember({"plain", "fused"}));
}

void CheckOfPlans(const CLI::App& command, std::string_view flag) {
  static const std::set<std::string> kShared = {"graph", "--machine", "--json", "--width", "--full-names"};
  static const std::set<std::string> kOfSearch = {"--verify", "--steps"}, kOfSimulate = {"--trace"};
  for (const CLI::Option* option : command.get_options()) {
    const std::string& name = option->get_name();
    const bool is_taken = name == flag || kShared.contains(name) || OfPlansAlone().contains(name) ||
                          (flag == "--plans" ? kOfSearch : kOfSimulate).contains(name);
    if (option->count() > 0 && !is_taken)
      throw CLI::ValidationError(name, fmt::format("is for graphs, and {} is for models", flag));
  }
}

void CheckOfGraphs(const CLI::App& command, std::string_view flag) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0 && OfPlansAlone().contains(option->get_name()))
      throw CLI::ValidationError(option->get_name(), fmt::format("is for plans of models: give {}", flag));
  }
}

}  // namespace lanescope::cli
