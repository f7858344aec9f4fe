// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/fused_members.h"

#include <fmt/core.h>

#include <algorithm>

#include "exec/cuda/fused_expression.h"

namespace lanescope::exec::cuda {

MemberText::MemberText(const Graph& graph, const Schedule& schedule, const Command& command,
                       std::span<const size_t> members, int passes_of_softmax)
    : graph_(graph),
      schedule_(schedule),
      command_(command),
      nodes_(schedule.FusedNodes(command)),
      members_(members),
      passes_of_softmax_(passes_of_softmax) {}

const Value& MemberText::Input(int input) const {
  return schedule_.values[schedule_.Inputs(command_)[static_cast<size_t>(input)]];
}
const Shape& MemberText::ShapeOfInput(int input) const {
  return input < 0 ? nodes_[static_cast<size_t>(-1 - input)].shape : Input(input).shape;
}
DataType MemberText::TypeOfInput(int input) const {
  return input < 0 ? nodes_[static_cast<size_t>(-1 - input)].dtype : Input(input).dtype;
}
int MemberText::GradientOf(size_t i) const {
  return nodes_[i].inputs[static_cast<size_t>(GradientInput(node(i).op))];
}
const Shape& MemberText::ShapeOfResult(size_t i) const {
  return RoleOf(i) == FusionRole::kUpdate ? ShapeOfInput(GradientOf(i)) : nodes_[i].shape;
}

void MemberText::FindLevels() {
  for (const size_t i : members_) {
    int level = 0;
    const bool reduces = RoleOf(i) == FusionRole::kReduction;
    for (size_t k = 0; k < (reduces ? 1 : nodes_[i].inputs.size()); ++k) {
      if (nodes_[i].inputs[k] < 0)
        level = std::max(level, level_[static_cast<size_t>(-1 - nodes_[i].inputs[k])]);
    }
    read_at_[i] = level;
    if (reduces) ++level;
    if (RoleOf(i) == FusionRole::kRowWise) level += passes_of_softmax_;
    level_[i] = level;
    passes_ = std::max(passes_, level);
  }
}

std::set<size_t> MemberText::NeededFor(std::set<size_t> needed) const {
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (!needed.contains(*member)) continue;
    for (const int input : nodes_[*member].inputs) {
      if (input >= 0) continue;
      const auto maker = static_cast<size_t>(-1 - input);
      if (!OneARow(maker)) needed.insert(maker);
    }
  }
  return needed;
}

bool MemberText::IsFolded(size_t i, int pass) const {
  const int behind = pass - read_at_.at(i);
  if (RoleOf(i) == FusionRole::kReduction) return behind == 0;
  return RoleOf(i) == FusionRole::kRowWise && behind >= 0 && behind < passes_of_softmax_;
}

void MemberText::Line(const std::string& text) {
  body_ += std::string(static_cast<size_t>(indent_), ' ') + text + "\n";
}
void MemberText::Open(const std::string& text) {
  Line(text);
  indent_ += 2;
}
void MemberText::Close() {
  indent_ -= 2;
  Line("}");
}

std::string MemberText::Address(FusedPointer::Of of, int operand) {
  const auto [found, added] = address_.try_emplace({of, operand}, pointers_.size());
  if (added) pointers_.push_back({0, of, operand});
  return fmt::format("at[{}]", 1 + found->second);
}
std::string MemberText::Pointer(FusedPointer::Of of, int operand, DataType dtype) {
  const std::string_view constant = of == FusedPointer::Of::kInput ? "const " : "";
  return fmt::format("reinterpret_cast<{}{}*>({})", constant, CTypeOf(dtype), Address(of, operand));
}

std::string MemberText::Operand(size_t reader, size_t k, const std::string& index, Names* known) {
  const int input = nodes_[reader].inputs[k];
  if (input < 0) return ValueOf(static_cast<size_t>(-1 - input));
  const Shape& own = RoleOf(reader) == FusionRole::kReduction ? ShapeOfInput(input) : ShapeOfResult(reader);
  const std::string at = IndexIn(ShapeOfInput(input), own, index);
  const std::string load =
      fmt::format("{}[{}]", Pointer(FusedPointer::Of::kInput, input, Input(input).dtype), at);
  const size_t number = loads_.try_emplace(load, loads_.size()).first->second;
  const std::string name = fmt::format("a{}", number);
  if (known->insert(name).second)
    Line(fmt::format("const {} {} = {};", CTypeOf(Input(input).dtype), name, load));
  return name;
}

std::string MemberText::IndexIn(const Shape& input, const Shape& output, const std::string& index) const {
  return BroadcastIndex(input, output, index);
}
std::string MemberText::ValueOf(size_t i) const { return fmt::format("v{}", i); }

std::string MemberText::ResultText(size_t i, const std::string& index, Names* known) {
  std::vector<std::string> operands;
  const size_t count = RoleOf(i) == FusionRole::kRowWise ? 1 : nodes_[i].inputs.size();
  for (size_t k = 0; k < count; ++k) operands.push_back(Operand(i, k, index, known));
  if (RoleOf(i) != FusionRole::kRowWise) return ElementExpression(node(i), nodes_[i].dtype, operands);
  const std::string most = RowNumber(fmt::format("most{}", i)), sum = RowNumber(fmt::format("sum{}", i));
  return node(i).op == "Softmax" ? fmt::format("f::Exp()({} - {}) / {}", operands[0], most, sum)
                                 : fmt::format("{} - {} - f::Log()({})", operands[0], most, sum);
}

void MemberText::Compute(size_t i, const std::string& index, Names* known) {
  const std::string value = ResultText(i, index, known);
  Line(fmt::format("const {} v{} = {};", CTypeOf(nodes_[i].dtype), i, value));
}

void MemberText::Store(size_t i, const std::string& index) {
  if (nodes_[i].output < 0) return;
  Line(fmt::format("{}[{}] = {};", Pointer(FusedPointer::Of::kOutput, nodes_[i].output, nodes_[i].dtype),
                   index, ValueOf(i)));
}

}  // namespace lanescope::exec::cuda
