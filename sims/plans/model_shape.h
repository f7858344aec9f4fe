// SPDX-License-Identifier: Apache-2.0
// The shape of a transformer: all that its time and memory depend on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanescope::sims::plans {

struct ModelShape {
  std::string name;
  double layers = 0, hidden = 0, heads = 0;
  double kv_heads = 0;   // 0: as many as heads
  double head_size = 0;  // 0: hidden / heads
  double ffn = 0;        // width of a dense layer's feed-forward network
  double vocabulary = 0;
  bool gated = true;   // SwiGLU: three matrices; else two
  bool causal = true;  // a token attends to those before it alone; else to all, as in encoders
  bool tied = false;   // embedding and output layer are one matrix
  // Mixture of experts, in all layers but the first `dense_layers`.
  double experts = 0, top_k = 0, expert_ffn = 0;
  double shared_ffn = 0;  // width of the experts that every token passes
  double dense_layers = 0;
  // Low-rank attention (DeepSeek's MLA): ranks of queries and of keys and values; 0: plain.
  double query_rank = 0, kv_rank = 0;
  double lora_rank = 0;  // of adapters on the attention's matrices; the rest is frozen
  double sequence = 0;   // tokens of a sequence in the graph that it was read from; 0: there is none

  double KvHeads() const { return kv_heads > 0 ? kv_heads : heads; }
  double HeadSize() const { return head_size > 0 ? head_size : hidden / heads; }
  bool IsMixture() const { return experts > 0; }
  double MoeLayers() const { return IsMixture() ? layers - dense_layers : 0; }
};

// A matrix of a layer: x[tokens, in] -> y[tokens, out]. Tensor parallelism splits columns (out) or rows (in),
// or every GPU has all of it.
enum class Split { kColumns, kRows, kWhole };
struct Matrix {
  double in = 0, out = 0;
  Split split = Split::kColumns;
  bool adapted = false;  // has an adapter where the model has any
};
std::vector<Matrix> AttentionMatrices(const ModelShape& model);
// Two, of which the first holds gate and value side by side.
std::vector<Matrix> FeedForwardMatrices(const ModelShape& model, double width);

double AttentionParameters(const ModelShape& model);  // of a layer, norms included
double FeedForwardParameters(const ModelShape& model, double width);
double EmbeddingParameters(const ModelShape& model);  // input and, unless tied, output
double Parameters(const ModelShape& model);
double TrainedParameters(const ModelShape& model);  // adapters alone where there are any
// Model arithmetic of a token, forward and backward (three times the forward products; with
// adapters the frozen matrices have no weight gradient).
double FlopsPerToken(const ModelShape& model, double sequence);

// Tokens of a sequence: as asked for, or 0: those of the graph, or else 4096.
double SequenceOf(const ModelShape& model, double asked);

// Throws InvalidArgument for what is no model: numbers that are not whole, heads that do not divide, ...
void CheckModel(const ModelShape& model);

// "llama-3.1-70b", "mixtral-8x7b", ...: facts of published models. Throws NotFound with the nearest name.
ModelShape NamedModel(std::string_view name);
std::vector<std::string_view> ModelNames();

// {"layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8, "ffn": 28672, "vocabulary": 128256, ...}; the
// names of Hugging Face's config.json are understood too. Throws InvalidArgument.
ModelShape ParseModel(std::string_view json, const std::string& where);
// A file where the name ends with .json, else a named model.
ModelShape ReadModel(const std::string& name_or_file);

}  // namespace lanescope::sims::plans
