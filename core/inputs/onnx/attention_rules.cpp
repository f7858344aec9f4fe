// SPDX-License-Identifier: Apache-2.0
// Attention, and the positions that it turns vectors by.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/graph/small_float_tensor.h"
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

bool IsExactOfRank(const OnnxValue& value, int least, int most) {
  return value.exists() && value.known_rank() && value.rank() >= least && value.rank() <= most &&
         value.shape().IsExact();
}

// [batch, words, heads * size] as [batch, heads, words, size]; what has four axes is that already.
OnnxValue ByHeads(OnnxEmitter& to, const OnnxValue& x, int64_t heads) {
  if (x.rank() == 4) return x;
  const Shape shape = x.shape();
  if (heads < 1 || shape.dim(2) % heads != 0)
    Throw(Code::kInvalidArgument, "has vectors of {} for {} heads", shape.dim(2), heads);
  const OnnxValue split = to.Reshaped(x, {shape.dim(0), shape.dim(1), heads, shape.dim(2) / heads});
  return to.Transposed(split, {0, 2, 1, 3});
}

OnnxValue JoinedHeads(OnnxEmitter& to, const OnnxValue& x) {
  const Shape shape = x.shape();
  return to.Reshaped(to.Transposed(x, {0, 2, 1, 3}),
                     {shape.dim(0), shape.dim(2), shape.dim(1) * shape.dim(3)});
}

OnnxValue AfterPast(OnnxEmitter& to, const OnnxValues& inputs, size_t past, const OnnxValue& x) {
  if (past >= inputs.size() || !inputs[past].exists()) return x;
  return to.Node("ConcatV2", {inputs[past], x, to.Int(2)}, {{"N", int64_t{2}}});
}

struct AttentionShape {
  int64_t batch, heads, groups, queries, keys, past;
};

// Which keys each query may look at: those up to its own word (`past` of them before the first), and not
// further from it than a window says. Does not exist where it may look at all.
OnnxValue PlaceMask(OnnxEmitter& to, const OnnxNode& node, const AttentionShape& sizes) {
  const OnnxValue one = to.Int(1);
  const OnnxValue words = to.Node("Range", {to.Int(sizes.past), to.Int(sizes.past + sizes.queries), one});
  const OnnxValue rows = to.Node("ExpandDims", {words, one});
  const OnnxValue columns = to.Node("Range", {to.Int(0), to.Int(sizes.keys), one});
  OnnxValue mask;
  const auto require = [&](std::string_view op, int64_t distance) {
    const OnnxValue end = distance == 0 ? rows : to.Node("AddV2", {rows, to.Int(distance)});
    const OnnxValue met = to.Node(op, {columns, end});
    mask = mask.exists() ? to.Node("LogicalAnd", {mask, met}) : met;
  };
  const int64_t left = node.Int("left_window_size", -1), right = node.Int("right_window_size", -1);
  if (node.Int("is_causal", 0) != 0) require("LessEqual", 0);
  if (left >= 0 && left < sizes.keys) require("GreaterEqual", -left);
  if (right >= 0 && right < sizes.keys) require("LessEqual", right);
  return mask;
}

// Masks of bools say where one may look.
OnnxValue AddedMask(OnnxEmitter& to, const OnnxValue& mask, DataType dtype) {
  if (mask.dtype() != DataType::kBool) return to.Cast(mask, dtype);
  return to.Node("SelectV2", {mask, to.Number(0, dtype), to.Number(-INFINITY, dtype)});
}

// Queries of several heads share the keys of one: heads are [of keys, queries of each].
OnnxValue Grouped(OnnxEmitter& to, const OnnxValue& x, int64_t groups) {
  const Shape shape = x.shape();
  return to.Reshaped(x, {shape.dim(0), groups, shape.dim(1) / groups, shape.dim(2), shape.dim(3)});
}

OnnxValue Weights(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs,
                  const AttentionShape& sizes, OnnxValue scores) {
  const DataType dtype = scores.dtype();
  if (const float cap = node.Float("softcap", 0); cap > 0) {
    scores = to.Node("Tanh", {to.Node("RealDiv", {scores, to.Number(cap, dtype)})});
    scores = to.Node("Mul", {scores, to.Number(cap, dtype)});
  }
  const OnnxValue lowest = to.Number(-INFINITY, dtype);
  if (const OnnxValue mask = PlaceMask(to, node, sizes); mask.exists())
    scores = to.Node("SelectV2", {mask, scores, lowest});
  if (inputs.size() <= 3 || !inputs[3].exists()) return to.Node("Softmax", {scores});
  scores = to.Node("AddV2", {scores, AddedMask(to, inputs[3], dtype)});
  // A query that may look at no key gets zeros.
  const OnnxValue blind = to.Node("Equal", {Reduced(to, "Max", scores, {-1}, true), lowest});
  return to.Node("SelectV2", {blind, to.Number(0, dtype), to.Node("Softmax", {scores})});
}

// Scores of all heads, softmax, and means of values by it. Softmax is in float for floats of 16 bits.
OnnxValues Attention(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  constexpr int64_t kLongest = int64_t{1} << 30;
  for (size_t i = 0; i < 3; ++i)
    if (!IsExactOfRank(inputs[i], 3, 4)) return {};
  for (size_t i = 3; i < inputs.size(); ++i)
    if (inputs[i].exists() && (i > 5 || !IsExactOfRank(inputs[i], 2, 4))) return {};
  if (node.num_outputs() > 3 ||
      !node.HasOnly({"is_causal", "kv_num_heads", "left_window_size", "q_num_heads", "qk_matmul_output_mode",
                     "right_window_size", "scale", "softcap", "softmax_precision"}))
    return {};
  const bool joined = inputs[0].rank() == 3;
  const OnnxValue q = ByHeads(to, inputs[0], node.Int("q_num_heads", 0));
  const OnnxValue new_k = ByHeads(to, inputs[1], node.Int("kv_num_heads", 0));
  const OnnxValue k = AfterPast(to, inputs, 4, new_k);
  const OnnxValue v = AfterPast(to, inputs, 5, ByHeads(to, inputs[2], node.Int("kv_num_heads", 0)));
  const Shape shape = q.shape();
  const AttentionShape sizes{shape.dim(0), shape.dim(1),     k.shape().dim(1),
                             shape.dim(2), k.shape().dim(2), k.shape().dim(2) - new_k.shape().dim(2)};
  if (sizes.groups < 1 || sizes.heads % sizes.groups != 0 || sizes.past + sizes.queries > kLongest ||
      sizes.keys > kLongest)
    return {};
  const bool shared = sizes.heads != sizes.groups;
  const OnnxValue queries = shared ? Grouped(to, q, sizes.groups) : q;
  const OnnxValue keys = shared ? Grouped(to, k, sizes.groups) : k;
  const OnnxValue values = shared ? Grouped(to, v, sizes.groups) : v;
  const double size = static_cast<double>(shape.dim(3));
  const double scale = node.Has("scale") ? static_cast<double>(node.Float("scale", 1)) : 1 / std::sqrt(size);
  const OnnxValue scaled = to.Node("Mul", {queries, to.Number(scale, q.dtype())});
  OnnxValue scores = to.Node("BatchMatMulV2", {scaled, keys}, {{"adj_y", true}});
  const std::vector<int64_t> by_head{sizes.batch, sizes.heads, sizes.queries, sizes.keys};
  if (shared) scores = to.Reshaped(scores, by_head);
  if (HasSmallFloats(scores.dtype())) scores = to.Cast(scores, DataType::kFloat);
  OnnxValue weights = to.Cast(Weights(to, node, inputs, sizes, scores), q.dtype());
  if (shared) weights = Grouped(to, weights, sizes.groups);
  OnnxValue result = to.Node("BatchMatMulV2", {weights, values});
  if (shared) result = to.Reshaped(result, {sizes.batch, sizes.heads, sizes.queries, v.shape().dim(3)});
  OnnxValues results{joined ? JoinedHeads(to, result) : result, k, v};
  results.resize(static_cast<size_t>(node.num_outputs()));
  return results;
}

// The first numbers of each vector, in pairs that are turned by an angle of the word's place.
OnnxValues RotaryEmbedding(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  if (!IsExactOfRank(inputs[0], 3, 4) || !inputs[1].exists() || !inputs[2].exists()) return {};
  const bool joined = inputs[0].rank() == 3, places = inputs.size() > 3 && inputs[3].exists();
  const OnnxValue x = ByHeads(to, inputs[0], node.Int("num_heads", 0));
  const Shape shape = x.shape();
  const int64_t size = shape.dim(3), turned = node.Int("rotary_embedding_dim", 0);
  const int64_t count = turned > 0 ? turned : size;
  if (count > size || count % 2 != 0) return {};
  const bool interleaved = node.Int("interleaved", 0) != 0;
  const auto table = [&](const OnnxValue& whole) {
    const OnnxValue rows = places ? to.Node("GatherV2", {whole, inputs[3], to.Int(0)}) : whole;
    return to.Node("ExpandDims", {rows, to.Int(1)});  // of all heads
  };
  const OnnxValue cosine = table(inputs[1]), sine = table(inputs[2]);
  OnnxValues parts{x};
  if (count < size)
    parts = to.Nodes("SplitV", {x, to.Ints({count, size - count}), to.Int(3)}, {{"num_split", int64_t{2}}});
  OnnxValues pair;
  if (interleaved) {
    const OnnxValue pairs = to.Reshaped(parts[0], {shape.dim(0), shape.dim(1), shape.dim(2), count / 2, 2});
    pair = to.Nodes("Unpack", {pairs}, {{"num", int64_t{2}}, {"axis", int64_t{4}}});
  } else {
    pair = to.Nodes("SplitV", {parts[0], to.Ints({count / 2, count / 2}), to.Int(3)},
                    {{"num_split", int64_t{2}}});
  }
  const auto product = [&](const OnnxValue& a, const OnnxValue& b) { return to.Node("Mul", {a, b}); };
  const OnnxValue real = to.Node("Sub", {product(cosine, pair[0]), product(sine, pair[1])});
  const OnnxValue imaginary = to.Node("AddV2", {product(sine, pair[0]), product(cosine, pair[1])});
  OnnxValues whole;
  if (interleaved) {
    const OnnxValue pairs = to.Node("Pack", {real, imaginary}, {{"N", int64_t{2}}, {"axis", int64_t{4}}});
    whole = {to.Reshaped(pairs, {shape.dim(0), shape.dim(1), shape.dim(2), count})};
  } else {
    whole = {real, imaginary};
  }
  if (count < size) whole.push_back(parts[1]);
  const auto pieces = static_cast<int64_t>(whole.size());
  whole.push_back(to.Int(3));
  const OnnxValue result = pieces == 1 ? whole[0] : to.Node("ConcatV2", whole, {{"N", pieces}});
  return {joined ? JoinedHeads(to, result) : result};
}

}  // namespace

void AddAttentionRules(OnnxRules* rules) {
  rules->emplace("Attention", Attention);
  rules->emplace("RotaryEmbedding", RotaryEmbedding);
}

}  // namespace lanescope
