// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/pytorch_text.h"

#include <fmt/core.h>

#include <algorithm>

namespace lanescope::sims::plans {
namespace {

constexpr const char* kTokenHooks =
    "def take_tokens(block, inputs):\n"
    "  whole = DTensor.from_local(inputs[0], mesh['tp'], [Replicate()], run_check=False)\n"
    "  return (whole.redistribute(placements=[Shard(1)]).to_local(), *inputs[1:])\n"
    "def gather_tokens(block, inputs, output):\n"
    "  first = output[0] if isinstance(output, tuple) else output\n"
    "  first = DTensor.from_local(first, mesh['tp'], [Shard(1)], run_check=False)\n"
    "  first = first.redistribute(placements=[Replicate()]).to_local()\n"
    "  return (first, *output[1:]) if isinstance(output, tuple) else first\n"
    "for block in mine[::here]:\n"
    "  block.register_forward_pre_hook(take_tokens)\n"
    "for block in mine[here - 1::here]:\n"
    "  block.register_forward_hook(gather_tokens)\n";

class PyTorchWriter {
 public:
  PyTorchWriter(const Plan& plan, const TorchModules& modules, double micro_batches)
      : plan_(plan), modules_(modules), micro_batches_(micro_batches) {}

  std::string Text() {
    AddMesh();
    AddTensorParallelism();
    AddRecomputation();
    if (plan_.kernels == Kernels::kCompiled) text_ += "for block in mine:\n  block.compile()\n";
    if (plan_.loss == Loss::kFused)
      text_ +=
          "# The loss of logits in bf16, as one kernel.\nloss = "
          "torch.compile(torch.nn.functional.cross_entropy)\n";
    AddShards();
    AddPipeline();
    AddNotes();
    return std::move(text_);
  }

 private:
  int shards() const { return plan_.shard == Sharding::kNone ? 1 : plan_.shard_ways(); }

  void AddMesh() {
    text_ += fmt::format("# {}\n", PlanText(plan_));
    if (!modules_.origin.empty()) text_ += fmt::format("# The names of modules are {}.\n", modules_.origin);
    text_ +=
        "import torch\n"
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard\n\n";
    text_ += fmt::format(
        "mesh = init_device_mesh('cuda', ({}, {}, {}, {}), mesh_dim_names=('pp', 'replicate', 'shard', "
        "'tp'))\n",
        plan_.pp, plan_.replicas() / shards(), shards(), plan_.tp);
    text_ += fmt::format("blocks = list(model.get_submodule('{}').children())\n", modules_.blocks);
    if (plan_.pp == 1) {
      text_ += "mine = blocks\n";
      return;
    }
    text_ += fmt::format(
        "# Each rank has {}; what follows is for its own blocks.\n"
        "mine = [block for i, block in enumerate(blocks)\n"
        "        if i * {} // len(blocks) % {} == mesh.get_local_rank('pp')]\n",
        plan_.vpp > 1 ? fmt::format("{} stages", plan_.vpp) : "one stage", plan_.pp * plan_.vpp, plan_.pp);
  }

  std::string StyleText(TorchStyle style) const {
    const char* tokens = plan_.sp ? "input_layouts=Shard(1)" : "";
    switch (style) {
      case TorchStyle::kColumns:
        return fmt::format("ColwiseParallel({})", tokens);
      case TorchStyle::kRows:
        return plan_.sp ? "RowwiseParallel(output_layouts=Shard(1))" : "RowwiseParallel()";
      case TorchStyle::kWords:
        return "RowwiseParallel(input_layouts=Replicate())";
      case TorchStyle::kColumnsOfWords:
        return "ColwiseParallel(output_layouts=Replicate())";
      case TorchStyle::kTokens:
        return "SequenceParallel()";
      case TorchStyle::kHeads:
        return "SequenceParallel(sequence_dim=2, use_local_output=True)";
    }
    return "";
  }

  void AddTensorParallelism() {
    if (plan_.tp == 1) return;
    text_ +=
        "\nfrom torch.distributed.tensor import DTensor, Replicate, Shard\n"
        "from torch.distributed.tensor.parallel import (\n"
        "    ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module)\n";
    for (const std::string& note : modules_.left_whole) text_ += fmt::format("# {}\n", note);
    text_ += "for block in mine:\n  parallelize_module(block, mesh['tp'], {\n";
    for (const TorchModule& module : modules_.in_block) {
      if (module.style == TorchStyle::kTokens && !plan_.sp) continue;
      text_ += fmt::format("      '{}': {},\n", module.path, StyleText(module.style));
    }
    text_ += "  })\n";
    if (!modules_.outside.empty()) {
      text_ += "parallelize_module(model, mesh['tp'], {\n";
      for (const TorchModule& module : modules_.outside) {
        const bool is_output = module.style == TorchStyle::kColumns;
        text_ +=
            fmt::format("    '{}': {},\n", module.path,
                        is_output ? "ColwiseParallel(output_layouts=Replicate())" : StyleText(module.style));
      }
      text_ += "})\n";
    }
    text_ +=
        "# Attention finds its own heads, fewer than the model's: view(..., -1, head_size), not a number.\n";
    if (!plan_.sp) return;
    text_ += fmt::format(
        "# Tokens are shared out before the first block of a stage and gathered behind its last one.\n"
        "here = len(mine) // {}\n{}",
        plan_.vpp, kTokenHooks);
  }

  void AddRecomputation() {
    if (plan_.recompute == Recompute::kNone) return;
    const bool by_operation = plan_.recompute == Recompute::kSelective;
    text_ += fmt::format("\nfrom functools import partial\nfrom torch.utils.checkpoint import checkpoint{}\n",
                         by_operation ? ", create_selective_checkpoint_contexts" : "");
    if (by_operation) {
      text_ +=
          "kept = [torch.ops.aten.mm.default, torch.ops.aten._scaled_dot_product_flash_attention.default,\n"
          "        torch.ops.aten._scaled_dot_product_cudnn_attention.default,\n"
          "        torch.ops.aten._scaled_dot_product_efficient_attention.default]\n";
    }
    text_ += fmt::format("for block in mine:\n  block.forward = partial(checkpoint, block.forward, {})\n",
                         by_operation ? "use_reentrant=False,\n"
                                        "                          context_fn=partial("
                                        "create_selective_checkpoint_contexts, kept)"
                                      : "use_reentrant=False");
  }

  // Parameters that are gathered once a step lie in parts between steps, and so do gradients: ZeRO-2.
  void AddShards() {
    if (plan_.replicas() == 1) return;
    if (plan_.shard == Sharding::kZero1) {
      text_ +=
          "\n# zero1: PyTorch has no public call that leaves gradients whole; these are in parts too, as by "
          "zero2.\n";
    } else {
      text_ += "\n";
    }
    const bool pure = plan_.precision == Precision::kPureBf16;
    if (pure) text_ += "model.to(torch.bfloat16)\n";
    const bool again = plan_.ShardsParameters();
    text_ += fmt::format(
        "policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.{})\n"
        "shares = dict(mesh=mesh['replicate', 'shard'], mp_policy=policy, reshard_after_forward={})\n"
        "for block in mine:\n"
        "  fully_shard(block, **shares)\n",
        pure ? "bfloat16" : "float32", again ? "True" : "False");
    text_ += plan_.pp == 1 ? "fully_shard(model, **shares)\n"
                           : "# What is outside of the blocks: fully_shard(stage, **shares), of the stage.\n";
  }

  void AddPipeline() {
    if (plan_.pp == 1) return;
    const char* schedule = plan_.vpp > 1 ? "ScheduleInterleaved1F1B" : "Schedule1F1B";
    text_ += fmt::format(
        "\nfrom torch.distributed.pipelining import SplitPoint, {}\n"
        "# pipeline(model, ..., split_spec) cuts a model that is traced; one with blocks as above is cut by "
        "hand,\n"
        "# in PipelineStage, at the same places: {}(stage, n_microbatches={:.0f}, loss_fn=...).\n"
        "split_spec = {{f'{}.{{i}}': SplitPoint.BEGINNING for i in range(1, len(blocks))\n"
        "              if i * {} // len(blocks) != (i - 1) * {} // len(blocks)}}\n",
        schedule, schedule, micro_batches_, modules_.blocks, plan_.pp * plan_.vpp, plan_.pp * plan_.vpp);
  }

  void AddNotes() {
    if (plan_.cp > 1) {
      text_ += fmt::format(
          "\nfrom torch.distributed.tensor.experimental import context_parallel\n"
          "sequences = init_device_mesh('cuda', ({}, {}, {}), mesh_dim_names=('other', 'cp', 'tp'))['cp']\n"
          "# cp={}: a step runs under context_parallel(sequences, buffers=[...], buffer_seq_dims=[...]), "
          "with\n"
          "# the inputs, labels and positions and the axis of tokens of each; PyTorch calls it "
          "experimental.\n",
          plan_.pp * plan_.dp, plan_.cp, plan_.tp, plan_.cp);
    }
    if (plan_.ep > 1)
      text_ += fmt::format("# ep={}: PyTorch has no public call that shares out experts.\n", plan_.ep);
    const bool is_narrow = plan_.precision != Precision::kBf16 && plan_.precision != Precision::kPureBf16;
    if (is_narrow)
      text_ += fmt::format(
          "# precision={}: PyTorch has no public call for training with such products; torchao has, for the\n"
          "# model before all of this.\n",
          PrecisionName(plan_.precision));
    if (plan_.graphs)
      text_ += "# graphs: record the step by torch.cuda.graphs, or compile with mode='reduce-overhead'.\n";
    if (plan_.tp_overlap)
      text_ += "# tp-overlap: PyTorch has no public call for collectives beside the products of a block.\n";
    text_ += "# The optimizer is made of model.parameters() behind all of this.\n";
  }

  const Plan& plan_;
  const TorchModules& modules_;
  const double micro_batches_;
  std::string text_;
};

}  // namespace

TorchModules ModulesOfTorchtitan() {
  using enum TorchStyle;
  return {.origin = "those of torchtitan's Llama: a shape has none, the export of a model has its own",
          .blocks = "layers",
          .in_block = {{"attention_norm", kTokens},
                       {"attention.wq", kColumns},
                       {"attention.wk", kColumns},
                       {"attention.wv", kColumns},
                       {"attention.wo", kRows},
                       {"ffn_norm", kTokens},
                       {"feed_forward.w1", kColumns},
                       {"feed_forward.w3", kColumns},
                       {"feed_forward.w2", kRows}},
          .outside = {{"tok_embeddings", kWords}, {"output", kColumns}},
          .left_whole = {}};
}

std::string PyTorchText(const Plan& plan, const TorchModules& modules, double micro_batches) {
  return PyTorchWriter(plan, modules, micro_batches).Text();
}

}  // namespace lanescope::sims::plans
