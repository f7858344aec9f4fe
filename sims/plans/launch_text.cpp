// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/launch_text.h"

#include <fmt/core.h>

#include <algorithm>

namespace lanescope::sims::plans {
namespace {

bool IsFp8(Precision precision) {
  return precision != Precision::kBf16 && precision != Precision::kPureBf16 && precision != Precision::kNvfp4;
}

int ShardWays(const Plan& plan) { return plan.ShardsParameters() ? plan.shard_ways() : 1; }

}  // namespace

// Its local batch is that of a pipeline's step, which it cuts into micro-batches.
std::string TorchtitanText(const Plan& plan, const ModelShape& model, double global_batch, double sequence) {
  const double local_batch = plan.pp > 1 ? global_batch / plan.dp : plan.micro;
  const int shards = std::max(1, ShardWays(plan) / plan.cp);
  std::string text = fmt::format(
      "--training.seq_len {:.0f} --training.local_batch_size {:.0f} --training.global_batch_size {:.0f}\n"
      "--parallelism.data_parallel_replicate_degree {} --parallelism.data_parallel_shard_degree {}\n"
      "--parallelism.tensor_parallel_degree {} --parallelism.pipeline_parallel_degree {}\n"
      "--parallelism.context_parallel_degree {} --parallelism.expert_parallel_degree {}\n",
      sequence, local_batch, global_batch, plan.dp / std::min(plan.dp, shards), std::min(plan.dp, shards),
      plan.tp, plan.pp, plan.cp, plan.ep);
  if (plan.pp > 1) {
    text += fmt::format(
        "--parallelism.pipeline_parallel_schedule {} --parallelism.pipeline_parallel_microbatch_size {}\n",
        plan.vpp > 1 ? "Interleaved1F1B" : "1F1B", plan.micro);
  }
  if (plan.vpp > 1) {
    text += fmt::format("--parallelism.pipeline_parallel_layers_per_stage {:.0f}\n",
                        std::max(1.0, model.layers / plan.pp / plan.vpp));
  }
  if (plan.recompute != Recompute::kNone)
    text += fmt::format("--activation_checkpoint.mode {}\n", RecomputeName(plan.recompute));
  if (plan.kernels == Kernels::kCompiled) text += "--compile.enable\n";
  if (plan.loss == Loss::kFused) text += "# loss=fused: \"loss\" among the components that are compiled\n";
  if (IsFp8(plan.precision)) text += "--model.converters float8\n";
  if (plan.shard == Sharding::kZero1 || plan.shard == Sharding::kZero2)
    text += "# torchtitan shards parameters too: shard=fsdp2\n";
  return text;
}

std::string MegatronText(const Plan& plan, const ModelShape& model, double global_batch, double sequence) {
  std::string text = fmt::format(
      "--tensor-model-parallel-size {} --pipeline-model-parallel-size {} --context-parallel-size {}\n"
      "--micro-batch-size {} --global-batch-size {:.0f} --seq-length {:.0f}\n",
      plan.tp, plan.pp, plan.cp, plan.micro, global_batch, sequence);
  if (plan.ep > 1) text += fmt::format("--expert-model-parallel-size {}\n", plan.ep);
  if (plan.vpp > 1) {
    const double layers = std::max(1.0, model.layers / plan.pp / plan.vpp);
    text += fmt::format("--num-layers-per-virtual-pipeline-stage {:.0f}\n", layers);
  }
  if (plan.sp) text += "--sequence-parallel\n";
  if (plan.shard == Sharding::kZero1)
    text += "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather\n";
  if (plan.ShardsParameters()) text += "--use-torch-fsdp2\n";
  if (plan.recompute == Recompute::kFull)
    text += "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1\n";
  if (plan.recompute == Recompute::kSelective) text += "--recompute-granularity selective\n";
  if (plan.loss == Loss::kFused) text += "--cross-entropy-loss-fusion\n";
  if (plan.tp_overlap) text += "--tp-comm-overlap\n";
  text += IsFp8(plan.precision) ? "--bf16 --fp8-format hybrid\n" : "--bf16\n";
  return text;
}

}  // namespace lanescope::sims::plans
