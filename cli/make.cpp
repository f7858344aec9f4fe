// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>

#include "cli/command.h"
#include "cli/gpt_file.h"
#include "cli/print.h"
#include "cli/stage_memory.h"
#include "core/base/units.h"
#include "sims/megatron/gpt_memory.h"

namespace lanescope::cli {
namespace {

struct MakeGptOptions {
  sims::megatron::GptModel model{.layers = 24, .hidden = 1024, .heads = 16, .sequence = 1024};
  sims::megatron::GptLayout layout{.batch = 32, .micro_batch = 4};
  std::string schedule = "1f1b", recompute = "auto", fold = "auto", output;
};

void MakeGpt(const MakeGptOptions& options) {
  sims::megatron::GptOrigin origin{options.model, options.layout};
  if (options.schedule == "gpipe") origin.schedule = PipelineSchedule::kGPipe;
  sims::megatron::GptLayout& layout = origin.layout;
  const sims::megatron::MegatronRules rules;
  layout.recompute = options.recompute == "full" ||
                     (options.recompute == "auto" &&
                      !FitsWithoutRecomputing(options.model, layout, rules.gpu, origin.schedule));
  const sims::megatron::GptStep step = EstimateGptStep(options.model, layout, rules);
  const int nodes = WriteGptFile(origin, options.fold, options.output);
  Print("{}: {} nodes for GPU:0 to GPU:{:.0f}{}\n", options.output, nodes, layout.gpus() - 1,
        layout.recompute ? "; activations are recomputed" : "");
  Print("A step on A100s, by rules: {}\n", TimeText(step.seconds * 1e9));
  const std::pair<const char*, double> parts[] = {{"layers", step.layers},
                                                  {"embedding and output", step.ends},
                                                  {"messages between stages", step.messages},
                                                  {"bubble", step.bubble},
                                                  {"gradients", step.gradients},
                                                  {"optimizer", step.update}};
  for (const auto& [name, seconds] : parts)
    Print("  {:<24} {:>10}  {:>7}\n", name, TimeText(seconds * 1e9), PercentText(seconds / step.seconds));
  Print("\n");
  PrintStageMemory(origin);
  NoteTooLarge(origin);
}

void AddGpt(CLI::App* make) {
  auto* command = make->add_subcommand("gpt", "A training step of a GPT model, as Megatron lays it out");
  auto options = std::make_shared<MakeGptOptions>();
  const auto number = [&](const char* name, double* value, const char* what) {
    command->add_option(name, *value, what)->capture_default_str()->check(CLI::Range(1.0, 1e9));
  };
  number("--layers", &options->model.layers, "Layers");
  number("--hidden", &options->model.hidden, "Values of a token between layers");
  number("--heads", &options->model.heads, "Heads of attention");
  number("--seq", &options->model.sequence, "Tokens of a sequence");
  number("--vocab", &options->model.vocabulary, "Tokens of the vocabulary");
  number("--batch", &options->layout.batch, "Sequences of a step");
  number("--micro-batch", &options->layout.micro_batch, "Sequences of one pass");
  number("--tensor", &options->layout.tensor, "GPUs that share each layer");
  number("--data", &options->layout.data, "Replicas");
  number("--pipeline", &options->layout.pipeline, "Stages");
  command->add_option("--schedule", options->schedule, "Order of forward and backward passes")
      ->capture_default_str()
      ->check(CLI::IsMember({"1f1b", "gpipe"}));
  command
      ->add_option("--recompute", options->recompute,
                   "Whether activations are made again for gradients; auto: if memory asks for it")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "full", "none"}));
  command
      ->add_option("--fold", options->fold,
                   "Whether one GPU of a stage is written for all that do the same; auto: in large graphs")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "all", "none"}));
  command
      ->add_option("-o,--output", options->output,
                   "Graph to write (.pb, .pbtxt); its run configuration lies beside it")
      ->required()
      ->check(CheckGraphFile);
  AddExample(command, "lanescope make gpt --layers 24 --tensor 2 --data 2 --pipeline 2 -o /tmp/gpt.pb");
  command->callback([options] { MakeGpt(*options); });
}

}  // namespace

void AddMake(CLI::App* app) {
  auto* command = app->add_subcommand("make", "Write a graph");
  command->require_subcommand(1);
  AddGpt(command);
  AddExample(command, "lanescope make gpt --layers 24 --tensor 2 --data 2 --pipeline 2 -o /tmp/gpt.pb");
}

}  // namespace lanescope::cli
