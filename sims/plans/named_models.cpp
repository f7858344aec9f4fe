// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "sims/plans/model_shape.h"
#include "sims/plans/nearest.h"

namespace lanescope::sims::plans {
namespace {

struct Named {
  std::string_view name;
  double layers, hidden, heads, kv_heads, ffn, vocabulary;
  bool tied = false, gated = true;
  double head_size = 0;
  double experts = 0, top_k = 0, expert_ffn = 0, shared_ffn = 0, dense_layers = 0;
  double query_rank = 0, kv_rank = 0;
};

// As their published configurations (config.json) say.
constexpr std::array<Named, 27> kModels = {{
    {"gpt2", 12, 768, 12, 12, 3072, 50257, true, false},
    {"gpt2-xl", 48, 1600, 25, 25, 6400, 50257, true, false},
    {"gpt3-175b", 96, 12288, 96, 96, 49152, 51200, true, false},
    {"llama-2-7b", 32, 4096, 32, 32, 11008, 32000},
    {"llama-2-13b", 40, 5120, 40, 40, 13824, 32000},
    {"llama-2-70b", 80, 8192, 64, 8, 28672, 32000},
    {"llama-3-8b", 32, 4096, 32, 8, 14336, 128256},
    {"llama-3-70b", 80, 8192, 64, 8, 28672, 128256},
    {"llama-3.1-8b", 32, 4096, 32, 8, 14336, 128256},
    {"llama-3.1-70b", 80, 8192, 64, 8, 28672, 128256},
    {"llama-3.1-405b", 126, 16384, 128, 8, 53248, 128256},
    {"llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256, true},
    {"llama-3.2-3b", 28, 3072, 24, 8, 8192, 128256, true},
    {"mistral-7b", 32, 4096, 32, 8, 14336, 32000},
    {"mixtral-8x7b", 32, 4096, 32, 8, 14336, 32000, false, true, 0, 8, 2, 14336},
    {"mixtral-8x22b", 56, 6144, 48, 8, 16384, 32768, false, true, 0, 8, 2, 16384},
    {"qwen2.5-7b", 28, 3584, 28, 4, 18944, 152064},
    {"qwen2.5-72b", 80, 8192, 64, 8, 29568, 152064},
    {"qwen3-8b", 36, 4096, 32, 8, 12288, 151936, false, true, 128},
    {"qwen3-32b", 64, 5120, 64, 8, 25600, 151936, false, true, 128},
    {"qwen3-30b-a3b", 48, 2048, 32, 4, 6144, 151936, false, true, 128, 128, 8, 768},
    {"qwen3-235b-a22b", 94, 4096, 64, 4, 12288, 151936, false, true, 128, 128, 8, 1536},
    {"gpt-oss-20b", 24, 2880, 64, 8, 2880, 201088, false, true, 64, 32, 4, 2880},
    {"gpt-oss-120b", 36, 2880, 64, 8, 2880, 201088, false, true, 64, 128, 4, 2880},
    {"deepseek-v3", 61, 7168, 128, 128, 18432, 129280, false, true, 128, 256, 8, 2048, 2048, 3, 1536, 512},
    {"gemma-2-9b", 42, 3584, 16, 8, 14336, 256000, true, true, 256},
    {"mpt-7b", 32, 4096, 32, 32, 16384, 50432, true, false},
}};

}  // namespace

std::vector<std::string_view> ModelNames() {
  std::vector<std::string_view> names;
  for (const Named& model : kModels) names.push_back(model.name);
  return names;
}

ModelShape NamedModel(std::string_view name) {
  for (const Named& m : kModels) {
    if (m.name != name) continue;
    ModelShape model;
    model.name = m.name;
    model.layers = m.layers;
    model.hidden = m.hidden;
    model.heads = m.heads;
    model.kv_heads = m.kv_heads;
    model.head_size = m.head_size;
    model.ffn = m.ffn;
    model.vocabulary = m.vocabulary;
    model.gated = m.gated;
    model.tied = m.tied;
    model.experts = m.experts;
    model.top_k = m.top_k;
    model.expert_ffn = m.expert_ffn;
    model.shared_ffn = m.shared_ffn;
    model.dense_layers = m.dense_layers;
    model.query_rank = m.query_rank;
    model.kv_rank = m.kv_rank;
    return model;
  }
  Throw(Code::kNotFound,
        "no model is named {}, and no file{}; models are {} and others, graphs and shapes (.json)",
        Printable(name), DidYouMean(name, ModelNames()), kModels[0].name);
}

}  // namespace lanescope::sims::plans
