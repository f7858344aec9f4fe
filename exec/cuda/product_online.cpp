// SPDX-License-Identifier: Apache-2.0
// A softmax and the products that read it in one pass over the columns.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "exec/cuda/fused_expression.h"
#include "exec/cuda/product_writer.h"

namespace lanescope::exec::cuda {

bool ProductWriter::DependsOn(size_t i, size_t on) const {
  return i == on || std::ranges::any_of(nodes_[i].inputs, [&](int input) {
           return input < 0 && DependsOn(static_cast<size_t>(-1 - input), on);
         });
}

// A constant of the graph, one number, which is this one.
bool ProductWriter::IsNumber(int input, double number) const {
  if (input < 0) return false;
  const auto& constant = schedule_.RootValue(schedule_.Inputs(command_)[static_cast<size_t>(input)]).constant;
  if (constant == nullptr || constant->NumElements() != 1) return false;
  if (constant->dtype() == DataType::kFloat) return *constant->data<float>() == static_cast<float>(number);
  return constant->dtype() == DataType::kDouble && *constant->data<double>() == number;
}

// Follows what the products read back to the softmax.
bool ProductWriter::FindChain(OnlineSoftmax* found) const {
  for (size_t i = found->matrices; i != found->softmax;) {
    const std::string_view op = node(i).op;
    const bool selects = op == "Select" || op == "SelectV2";
    if (RoleOf(i) != FusionRole::kElementWise || OneARow(i) || (op != "Mul" && !selects)) return false;
    std::optional<size_t> before;
    bool by_row = false;
    for (size_t k = 0; k < nodes_[i].inputs.size(); ++k) {
      const int input = nodes_[i].inputs[k];
      const auto maker = static_cast<size_t>(-1 - input);
      if (input < 0 && DependsOn(maker, found->softmax)) {
        if (before || (selects && k == 0)) return false;
        before = maker;
      } else if (selects && k > 0) {
        if (!IsNumber(input, 0)) return false;
      } else if (input < 0 && level_.at(maker) > 0) {
        if (!OneARow(maker)) return false;
        by_row = true;
      }
    }
    if (!before) return false;
    (by_row ? found->at_end : found->in_tile).push_back(i);
    i = *before;
  }
  std::ranges::reverse(found->in_tile);
  std::ranges::reverse(found->at_end);
  return true;
}

std::optional<OnlineSoftmax> ProductWriter::FindOnline(std::span<const ProductReader> readers) const {
  if (readers.empty() || passes_ != 1) return std::nullopt;
  OnlineSoftmax found{0, readers[0].matrices, {}, {}};
  int softmaxes = 0;
  for (const size_t i : members_) {
    if (IsStored(i)) return std::nullopt;
    if (RoleOf(i) != FusionRole::kRowWise) continue;
    ++softmaxes;
    found.softmax = i;
    if (node(i).op != "Softmax" || nodes_[i].dtype != dtype_) return std::nullopt;
  }
  const bool reads_one = std::ranges::all_of(
      readers, [&](const ProductReader& reader) { return reader.matrices == found.matrices; });
  if (softmaxes != 1 || !reads_one || !FindChain(&found)) return std::nullopt;
  return found;
}

std::string ProductWriter::NextOf(size_t i, size_t before, const std::string& value, const std::string& index,
                                  Names* known) {
  std::vector<std::string> operands;
  for (size_t k = 0; k < nodes_[i].inputs.size(); ++k) {
    const bool is_before = nodes_[i].inputs[k] == -1 - static_cast<int>(before);
    operands.push_back(is_before ? value : Operand(i, k, index, known));
  }
  return ElementExpression(node(i), nodes_[i].dtype, operands);
}

void ProductWriter::WriteOnline(const OnlineSoftmax& online, std::span<const ProductReader> readers) {
  std::set<size_t> needed;
  const std::vector<size_t> folding = FoldedIn(0, &needed);
  DeclareSums(readers);
  OpenColumnTiles();
  if (const auto mask = FindMask(online, folding)) SkipHiddenTile(*mask);
  MakeTiles(needed);
  const size_t y = online.matrices;
  Line(fmt::format("T y{}[kMicro][kMicro];", y));
  Line("#pragma unroll");
  Line(fmt::format("for (int n = 0; n < kMicro * kMicro; ++n) y{}[n / kMicro][n % kMicro] = -T(INFINITY);",
                   y));
  OpenElements(needed);
  Names known;
  ComputeFull(needed, &known);
  for (const size_t i : folding) {
    if (i != online.softmax) FoldElement(i, &known);
  }
  Line(fmt::format("y{}[i][j] = {};", y, Operand(online.softmax, 0, "e", &known)));
  CloseElements();
  TakeLargest(online, readers);
  WeighTile(online);
  AddProducts({y}, readers);
  Close();
  JoinRows(folding);
  ComputeOnesARow(1);
  FinishSums(online, readers);
  for (const ProductReader& reader : readers) StoreSum(reader);
}

bool ProductWriter::IsOfProducts(int input) const {
  return input < 0 && std::ranges::any_of(members_, [&](size_t product) {
           return IsProduct(product) && DependsOn(static_cast<size_t>(-1 - input), product);
         });
}

// The softmax reads the masked scores, and so do all other folds, which are maxima: -infinity changes none.
std::optional<ScoreMask> ProductWriter::FindMask(const OnlineSoftmax& online,
                                                 std::span<const size_t> folding) const {
  const int input = nodes_[online.softmax].inputs[0];
  const bool only_maxima = std::ranges::all_of(folding, [&](size_t i) {
    return i == online.softmax || (node(i).op == "Max" && nodes_[i].inputs[0] == input);
  });
  if (input >= 0 || !only_maxima) return std::nullopt;
  const auto masked = static_cast<size_t>(-1 - input);
  const std::string_view op = node(masked).op;
  const std::vector<int>& inputs = nodes_[masked].inputs;
  if (op == "Add" || op == "AddV2") {
    for (size_t k = 0; k < 2; ++k) {
      if (!IsOfProducts(inputs[k]) && IsOfProducts(inputs[1 - k]))
        return ScoreMask{masked, k, ScoreMask::Hides::kMinusInfinity};
    }
  }
  if ((op == "Select" || op == "SelectV2") && !IsOfProducts(inputs[0])) {
    if (IsNumber(inputs[1], -INFINITY)) return ScoreMask{masked, 0, ScoreMask::Hides::kTrue};
    if (IsNumber(inputs[2], -INFINITY)) return ScoreMask{masked, 0, ScoreMask::Hides::kFalse};
  }
  return std::nullopt;
}

// A tile of which no thread sees an element is not multiplied: all its weights are zeros. Of a causal mask
// those are the tiles above the diagonal.
void ProductWriter::SkipHiddenTile(const ScoreMask& mask) {
  std::set<size_t> needed;
  const int input = nodes_[mask.node].inputs[mask.operand];
  if (input < 0 && !OneARow(static_cast<size_t>(-1 - input))) needed.insert(static_cast<size_t>(-1 - input));
  needed = NeededFor(needed);
  Line("int seen = 0;");
  OpenElements(needed);
  Names known;
  ComputeFull(needed, &known);
  const std::string element = Operand(mask.node, mask.operand, "e", &known);
  switch (mask.hides) {
    case ScoreMask::Hides::kTrue:
      Line(fmt::format("seen |= {} ? 0 : 1;", element));
      break;
    case ScoreMask::Hides::kFalse:
      Line(fmt::format("seen |= {} ? 1 : 0;", element));
      break;
    case ScoreMask::Hides::kMinusInfinity:
      Line(fmt::format("seen |= {} == -T(INFINITY) ? 0 : 1;", element));
  }
  CloseElements();
  Line("if (__syncthreads_or(seen) == 0) continue;");
}

// Where a row has a larger score than before, what it has summed up so far is scaled.
void ProductWriter::TakeLargest(const OnlineSoftmax& online, std::span<const ProductReader> readers) {
  Line("#pragma unroll");
  Open("for (int i = 0; i < kMicro; ++i) {");
  Line(fmt::format("const T larger = LargestOf(y{}[i], most{}[i]);", online.matrices, online.softmax));
  Line(fmt::format("const T scale = Weight(most{}[i], larger);", online.softmax));
  Line(fmt::format("most{}[i] = larger;", online.softmax));
  Line(fmt::format("sum{}[i] *= scale;", online.softmax));
  for (const ProductReader& reader : readers)
    Line(fmt::format("ScaleSums<{}>(total{}[i], scale);", reader.width, reader.member));
  Close();
}

// From scores to what the products read, as far as the tile knows it.
void ProductWriter::WeighTile(const OnlineSoftmax& online) {
  std::set<size_t> needed;
  for (const size_t i : online.in_tile) {
    for (const int input : nodes_[i].inputs) {
      const auto maker = static_cast<size_t>(-1 - input);
      if (input < 0 && !OneARow(maker) && !DependsOn(maker, online.softmax)) needed.insert(maker);
    }
  }
  needed = NeededFor(needed);
  const std::string y = fmt::format("y{}[i][j]", online.matrices);
  OpenRows();
  OpenColumns(
      fmt::format("{} = T(0);\n{}continue;", y, std::string(static_cast<size_t>(indent_) + 4, ' ')).c_str());
  NameMade(needed);
  Names known;
  ComputeFull(needed, &known);
  Line(fmt::format("{} = Weight({}, most{}[i]);", y, y, online.softmax));
  Line(fmt::format("sum{}[i] += {};", online.softmax, y));
  size_t before = online.softmax;
  for (size_t i = before + 1; i <= online.matrices; ++i) {
    const bool between = std::ranges::find(online.in_tile, i) != online.in_tile.end();
    const bool later = std::ranges::find(online.at_end, i) != online.at_end.end();
    if (between) Line(fmt::format("{} = {};", y, NextOf(i, before, y, "e", &known)));
    if (between || later) before = i;
  }
  CloseElements();
}

void ProductWriter::FinishSums(const OnlineSoftmax& online, std::span<const ProductReader> readers) {
  OpenRows();
  Names known;
  for (const ProductReader& reader : readers) {
    const std::string total = fmt::format("total{}[i][w]", reader.member);
    std::vector<std::string> steps = {fmt::format("{} / sum{}[i]", total, online.softmax)};
    size_t before = online.softmax;
    for (size_t i = before + 1; i <= online.matrices; ++i) {
      const bool between = std::ranges::find(online.in_tile, i) != online.in_tile.end();
      const bool later = std::ranges::find(online.at_end, i) != online.at_end.end();
      if (later) steps.push_back(NextOf(i, before, total, "r", &known));
      if (between || later) before = i;
    }
    Line("#pragma unroll");
    Open(fmt::format("for (int w = 0; w < kSums<{}>; ++w) {{", reader.width));
    for (const std::string& step : steps) Line(fmt::format("{} = {};", total, step));
    Close();
  }
  Close();
}

}  // namespace lanescope::exec::cuda
