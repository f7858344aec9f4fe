// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy/plan_rows.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/machine/named_cluster.h"

namespace lanescope::bench {
namespace {

using namespace sims::plans;

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Programs of a source: stated by the source, or its documented defaults at the time.
struct Source {
  std::string_view mark;  // in the row's source
  Kernels kernels;
  Attention attention;
  bool tp_overlap;      // recipes of that source overlap tensor parallelism's collectives
  bool counts_all;      // its FLOPs count scores that a causal mask hides
  bool selects_unsaid;  // recomputes by operation unless it says otherwise
  // Its models take flash attention's cross entropy unless told otherwise, and have metrics of training:
  // PyTorch's cross entropy of the same logits, and the perplexity of it.
  bool composer;
  Sharding unsaid;  // of its recipes
};
constexpr Source kSources[] = {
    {"llm-foundry", Kernels::kEager, Attention::kFlash1, false, true, false, true, Sharding::kNone},
    {"torchtitan", Kernels::kCompiled, Attention::kBest, false, false, true, false, Sharding::kNone},
    {"pytorch/ao", Kernels::kCompiled, Attention::kBest, false, false, false, false, Sharding::kNone},
    {"AutoModel", Kernels::kEager, Attention::kBest, false, false, false, false, Sharding::kNone},
    {"Megatron-Bridge", Kernels::kFused, Attention::kBest, true, false, false, false, Sharding::kNone},
    {"NeMo", Kernels::kFused, Attention::kBest, true, true, false, false, Sharding::kZero1},
    {"Megatron-LM", Kernels::kFused, Attention::kBest, true, false, false, false, Sharding::kNone},
    {"", Kernels::kFused, Attention::kBest, false, false, false, false, Sharding::kNone},
};

const Source& SourceOf(const std::string& text) {
  for (const Source& source : kSources) {
    if (Has(text, source.mark)) return source;
  }
  return kSources[std::size(kSources) - 1];
}

// Nodes by marks in the names of their GPUs.
std::string_view NodeOf(const std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"A100-40", "dgx-a100-40gb"}, {"A100", "dgx-a100"}, {"500W", "h100-500wx8"},
      {"H100", "dgx-h100"},         {"H200", "dgx-h200"}, {"GB300", "gb300-nvl72"},
      {"GB200", "gb200-nvl72"},     {"B300", "dgx-b300"}, {"B200", "dgx-b200"}};
  for (const auto& [mark, name] : kNames) {
    if (Has(text, mark)) return name;
  }
  return "";
}

// GPUs that fill no whole nodes are the same number of each of the fewest that have them.
PlanMachine MachineOf(std::string_view node, int gpus) {
  const int island = ClusterOf(node).cluster.gpus_per_node;
  int nodes = (gpus + island - 1) / island;
  while (gpus % nodes != 0) ++nodes;
  return NamedMachine(fmt::format("{}:{},gpus={}", node, gpus, gpus / nodes));
}

Precision PrecisionOf(const std::string& text) {
  constexpr std::pair<std::string_view, Precision> kNames[] = {
      {"nvfp4", Precision::kNvfp4},  {"NVFP4", Precision::kNvfp4},  {"mxfp8", Precision::kMxfp8},
      {"MXFP8", Precision::kMxfp8},  {"FP8-MX", Precision::kMxfp8}, {"rowwise", Precision::kFp8Row},
      {"fp8", Precision::kFp8},      {"FP8", Precision::kFp8},      {"float8", Precision::kFp8},
      {"PURE", Precision::kPureBf16}};
  for (const auto& [mark, precision] : kNames) {
    if (Has(text, mark)) return precision;
  }
  return Precision::kBf16;
}

Sharding ShardingOf(const std::string& text) {
  for (const Sharding sharding : {Sharding::kZero3, Sharding::kFsdp2, Sharding::kZero2, Sharding::kZero1}) {
    if (Has(text, ShardingName(sharding))) return sharding;
  }
  return Sharding::kNone;
}

Recompute RecomputeOf(const std::string& text) {
  if (Has(text, "full")) return Recompute::kFull;
  return Has(text, "selective") ? Recompute::kSelective : Recompute::kNone;
}

// Names of the other table; the rest have their shape in the row.
std::string_view ModelNameOf(const std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"LLAMA3.1_405B", "llama-3.1-405b"}, {"LLAMA3_70B", "llama-3-70b"}, {"Llama3 70B", "llama-3-70b"},
      {"Llama 3.1 70B", "llama-3.1-70b"},  {"LLAMA3_8B", "llama-3-8b"},   {"Llama3 8B", "llama-3-8b"},
      {"Llama 3.1 8B", "llama-3.1-8b"},    {"Qwen3", "qwen3-30b-a3b"},    {"GPT OSS 120B", "gpt-oss-120b"},
      {"GPT-OSS 20B", "gpt-oss-20b"},      {"DeepSeek", "deepseek-v3"}};
  for (const auto& [mark, name] : kNames) {
    if (Has(text, mark)) return name;
  }
  return "";
}

ModelShape ModelOf(const CsvRow& row, const std::string& remarks) {
  const std::string& name = TextIn(row, "model");
  ModelShape model;
  if (TextIn(row, "layers").empty()) {
    const std::string_view known = ModelNameOf(name);
    if (known.empty()) Throw(Code::kInvalidArgument, "its shape is not given");
    model = NamedModel(known);
  } else {
    model.layers = NumberIn(row, "layers");
    model.hidden = NumberIn(row, "hidden");
    model.heads = NumberIn(row, "heads");
    model.kv_heads = NumberIn(row, "kv_heads");
    model.ffn = NumberIn(row, "ffn");
    model.vocabulary = NumberIn(row, "vocab");
    model.experts = NumberIn(row, "experts");
    model.top_k = NumberIn(row, "topk");
    model.expert_ffn = model.ffn;
    if (Has(name, "Scout")) model.shared_ffn = model.ffn;
    model.gated = !Has(name, "MPT") && !Has(name, "GPT") && !Has(name, "Nemotron");
    model.tied = Has(name, "MPT") || Has(name, "GPT");
  }
  if (Has(remarks, "LoRA") || TextIn(row, "table") == "LoRA") model.lora_rank = 16;
  return model;
}

Plan PlanOf(const CsvRow& row, const Source& source, const std::string& remarks) {
  Plan plan;
  const auto number = [&](const char* name, double missing) {
    return static_cast<int>(NumberIn(row, name, missing));
  };
  plan.tp = number("tp", 1);
  plan.pp = number("pp", 1);
  plan.cp = number("cp", 1);
  plan.ep = std::max(1, number("ep", 1));
  plan.vpp = std::max({1, number("vpp", 1), number("vp", 1)});
  if (plan.pp == 1) plan.vpp = 1;
  plan.dp = std::max(1, number("gpus", 1) / (plan.tp * plan.pp * plan.cp));
  plan.sp = TextIn(row, "sp") == "1" || (plan.tp > 1 && row.count("sp") == 0);
  plan.micro = number(TextIn(row, "micro_batch").empty() ? "local_batch" : "micro_batch", 1);
  plan.kernels = source.kernels;
  plan.attention = source.attention;
  const std::string& features = TextIn(row, "features");
  const std::string recompute = TextIn(row, "recompute") + TextIn(row, "checkpointing");
  plan.recompute = RecomputeOf(Has(remarks, "recomputation full") ? "full" : recompute);
  if (recompute.empty() && source.selects_unsaid) plan.recompute = Recompute::kSelective;
  plan.precision = PrecisionOf(TextIn(row, "precision"));
  plan.shard = TextIn(row, "sharding").empty() ? source.unsaid : ShardingOf(TextIn(row, "sharding"));
  // The other table: a sharding group where there is one, else a distributed optimizer.
  if (row.count("fsdp") > 0) plan.shard = NumberIn(row, "fsdp") > 1 ? Sharding::kFsdp2 : Sharding::kZero1;
  if (Has(features, "eager")) plan.kernels = Kernels::kEager;
  if (source.composer || Has(features, "fused cross entropy")) plan.loss = Loss::kFused;
  if (Has(features, "FP8 attention")) plan.attention = Attention::kFp8;
  if (Has(TextIn(row, "system"), "NeMo 24.03")) plan.attention = Attention::kFlash2;
  // A100 rows of Megatron are older than flash attention.
  if (Has(recompute, "attention") || Has(remarks, "recomputation full")) plan.attention = Attention::kUnfused;
  plan.graphs = Has(features, "graph");
  plan.tp_overlap = Has(features, "TP overlap") || Has(features, "async TP") ||
                    Has(TextIn(row, "schedule"), "async TP") ||
                    (source.tp_overlap && plan.precision != Precision::kBf16 && plan.tp > 1);
  return plan;
}

double StepOf(const CsvRow& row, const PublishedStep& step, const Source& source) {
  if (const double seconds = NumberIn(row, "step_s"); seconds > 0) return seconds;
  const double tokens = step.global_batch * step.sequence / step.plan.gpus();
  if (const double rate = NumberIn(row, "tokens_per_s_gpu"); rate > 0) return tokens / rate;
  double flops = NumberIn(row, "tflops_gpu");
  if (flops == 0) flops = NumberIn(row, "model_tflops_per_gpu");
  if (flops == 0) return 0;
  const double hidden = source.counts_all ? 6 * step.model.layers * step.model.hidden * step.sequence : 0;
  return tokens * (FlopsPerToken(step.model, step.sequence) + hidden) / (flops * 1e12);
}

// The source counts a third of the FLOPs less: no weight gradients.
bool TrainsAdapters(const CsvRow& row, const PublishedStep& step) {
  const double rate = NumberIn(row, "tokens_per_s_gpu"), flops = NumberIn(row, "model_tflops_per_gpu") * 1e12;
  return rate > 0 && flops > 0 && flops / rate < 0.8 * FlopsPerToken(step.model, step.sequence) &&
         !step.model.IsMixture();
}

// A metric reads logits in bf16, writes them in fp32, reads those twice and writes their logarithmic softmax.
double MetricSeconds(const PublishedStep& step) {
  constexpr double kMetrics = 2, kBytes = 2 + 4 + 2 * 4 + 4;
  const double tokens = step.global_batch * step.sequence / step.plan.dp;
  return PassSeconds(step.machine.kernels, kMetrics * kBytes * tokens * step.model.vocabulary);
}

void Fill(const CsvRow& row, PublishedStep* step) {
  const std::string& remarks = TextIn(row, "remarks");
  const Source& source = SourceOf(step->source);
  if (Has(step->size, "Flux") || Has(step->size, "Wan"))
    Throw(Code::kInvalidArgument, "a diffusion transformer, not a language model");
  // torchao's tables are from torchtitan's machines.
  const std::string gpu = TextIn(row, "gpu").empty() ? step->system : TextIn(row, "gpu");
  const std::string_view node = NodeOf(Has(step->source, "pytorch/ao") ? "500W" : gpu);
  if (node.empty()) Throw(Code::kInvalidArgument, "no kernel times of its GPU are known");
  if (Has(remarks, "known defect") && Has(TextIn(row, "precision"), "rowwise"))
    Throw(Code::kInvalidArgument, "the source says that a defect slows it");
  if (Has(remarks, "contradicts itself")) Throw(Code::kInvalidArgument, "the source contradicts itself");
  step->model = ModelOf(row, remarks);
  step->global_batch = NumberIn(row, "global_batch");
  step->sequence = NumberIn(row, "sequence");
  if (TrainsAdapters(row, *step)) step->model.lora_rank = 16;
  if (step->global_batch == 0 || step->sequence == 0)
    Throw(Code::kInvalidArgument, "its batch or sequence is not stated");
  step->plan = PlanOf(row, source, remarks);
  if (step->plan.pp > 1 && TextIn(row, "micro_batch").empty())
    Throw(Code::kInvalidArgument, "its micro-batch is not stated");
  const double gpus = NumberIn(row, "gpus");
  step->machine = MachineOf(node, static_cast<int>(gpus));
  step->machine.name = node;
  CheckModel(step->model);
  CheckPlan(step->plan, step->model, step->global_batch, step->sequence, gpus);
  if (source.composer) step->beside_s = MetricSeconds(*step);
  step->step_s = StepOf(row, *step, source);
  if (step->step_s == 0) Throw(Code::kInvalidArgument, "its step is not stated");
  double memory = NumberIn(row, "peak_memory_gib");
  if (memory == 0) memory = NumberIn(row, "memory_gib");
  step->states_recompute = !Has(remarks, "recomputation not stated");
  if (!step->states_recompute) memory = 0;
  step->memory_bytes = memory * 1024 * 1024 * 1024;
}

}  // namespace

std::vector<PublishedStep> ReadPublishedSteps(const std::string& path) {
  std::vector<PublishedStep> steps;
  for (const CsvRow& row : ReadCsvTable(path)) {
    PublishedStep& step = steps.emplace_back();
    step.source = TextIn(row, "source");
    step.system = TextIn(row, "system");
    step.size = TextIn(row, "model");
    step.id = TextIn(row, "id").empty() ? fmt::format("row {}", steps.size()) : TextIn(row, "id");
    try {
      Fill(row, &step);
    } catch (const Error& error) {
      step.not_modelled = error.message();
    }
  }
  return steps;
}

}  // namespace lanescope::bench
