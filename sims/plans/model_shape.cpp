// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/model_shape.h"

#include <cmath>

#include "core/base/error.h"

namespace lanescope::sims::plans {
namespace {

double Sum(const std::vector<Matrix>& matrices) {
  double sum = 0;
  for (const Matrix& matrix : matrices) sum += matrix.in * matrix.out;
  return sum;
}

double Adapters(const ModelShape& model) {
  double sum = 0;
  for (const Matrix& matrix : AttentionMatrices(model)) {
    if (matrix.adapted) sum += model.lora_rank * (matrix.in + matrix.out);
  }
  return model.layers * sum;
}

}  // namespace

std::vector<Matrix> AttentionMatrices(const ModelShape& m) {
  const double head = m.HeadSize();
  if (m.kv_rank > 0) {
    // Keys of 64 values with position and 128 without, values of 128.
    constexpr double kRope = 64, kPlain = 128;
    const double queries = m.heads * (kPlain + kRope);
    std::vector<Matrix> matrices;
    if (m.query_rank > 0) matrices.push_back({m.hidden, m.query_rank, Split::kWhole, true});
    matrices.push_back({m.query_rank > 0 ? m.query_rank : m.hidden, queries, Split::kColumns, true});
    matrices.push_back({m.hidden, m.kv_rank + kRope, Split::kWhole, true});
    matrices.push_back({m.kv_rank, m.heads * 2 * kPlain, Split::kColumns, true});
    matrices.push_back({m.heads * kPlain, m.hidden, Split::kRows, true});
    return matrices;
  }
  return {{m.hidden, (m.heads + 2 * m.KvHeads()) * head, Split::kColumns, true},
          {m.heads * head, m.hidden, Split::kRows, true}};
}

std::vector<Matrix> FeedForwardMatrices(const ModelShape& m, double width) {
  return {{m.hidden, width * (m.gated ? 2 : 1), Split::kColumns}, {width, m.hidden, Split::kRows}};
}

double AttentionParameters(const ModelShape& m) { return Sum(AttentionMatrices(m)) + 2 * m.hidden; }

double FeedForwardParameters(const ModelShape& m, double width) { return Sum(FeedForwardMatrices(m, width)); }

double EmbeddingParameters(const ModelShape& m) { return m.vocabulary * m.hidden * (m.tied ? 1 : 2); }

double Parameters(const ModelShape& m) {
  const double moe = m.MoeLayers();
  return m.layers * AttentionParameters(m) + (m.layers - moe) * FeedForwardParameters(m, m.ffn) +
         moe * (m.experts * FeedForwardParameters(m, m.expert_ffn) + FeedForwardParameters(m, m.shared_ffn) +
                m.experts * m.hidden) +
         EmbeddingParameters(m) + m.hidden;
}

double TrainedParameters(const ModelShape& m) { return m.lora_rank > 0 ? Adapters(m) : Parameters(m); }

double SequenceOf(const ModelShape& model, double asked) {
  constexpr double kOfNoGraph = 4096;
  if (asked != 0) return asked;
  return model.sequence > 0 ? model.sequence : kOfNoGraph;
}

double FlopsPerToken(const ModelShape& m, double sequence) {
  const double moe = m.MoeLayers();
  const double products = m.layers * Sum(AttentionMatrices(m)) +
                          (m.layers - moe) * FeedForwardParameters(m, m.ffn) +
                          moe * (m.top_k * FeedForwardParameters(m, m.expert_ffn) +
                                 FeedForwardParameters(m, m.shared_ffn) + m.experts * m.hidden) +
                          m.vocabulary * m.hidden;
  const double size = m.kv_rank > 0 ? 160 : m.HeadSize();  // of keys and values, on average
  const double seen = m.causal ? sequence / 2 : sequence;
  const double attention = 2 * m.layers * m.heads * size * seen;  // multiply-adds of scores and values
  const double passes = m.lora_rank > 0 ? 2 : 3;
  return 2 * (passes * products + 3 * attention + 3 * Adapters(m));
}

// A search tries every number of layers that divides a stage's.
constexpr double kMostLayers = 100'000;

void CheckModel(const ModelShape& m) {
  const auto whole = [](double number, double least, const char* what, double most = 1e9) {
    if (!(number >= least && number <= most && number == std::floor(number)))
      Throw(Code::kInvalidArgument, "a model's {} is a whole number from {:.0f} to {:.0f}, not {}", what,
            least, most, number);
  };
  whole(m.layers, 1, "number of layers", kMostLayers);
  whole(m.hidden, 1, "hidden size");
  whole(m.heads, 1, "number of heads");
  whole(m.kv_heads, 0, "number of key and value heads");
  whole(m.head_size, 0, "head size");
  whole(m.ffn, m.IsMixture() && m.dense_layers == 0 ? 0 : 1, "feed-forward width");
  whole(m.vocabulary, 1, "vocabulary");
  whole(m.lora_rank, 0, "adapter rank");
  whole(m.experts, 0, "number of experts");
  if (m.head_size == 0 && std::fmod(m.hidden, m.heads) != 0)
    Throw(Code::kInvalidArgument, "{:.0f} hidden values are no multiple of {:.0f} heads; give head_size",
          m.hidden, m.heads);
  if (std::fmod(m.heads, m.KvHeads()) != 0)
    Throw(Code::kInvalidArgument, "{:.0f} heads are no multiple of {:.0f} key and value heads", m.heads,
          m.KvHeads());
  if (!m.IsMixture()) return;
  whole(m.top_k, 1, "number of experts of a token");
  whole(m.expert_ffn, 1, "expert width");
  whole(m.shared_ffn, 0, "shared expert width");
  whole(m.dense_layers, 0, "number of dense layers");
  if (m.top_k > m.experts || m.dense_layers >= m.layers)
    Throw(Code::kInvalidArgument, "a token passes at most all {:.0f} experts, and a layer has them",
          m.experts);
}

}  // namespace lanescope::sims::plans
