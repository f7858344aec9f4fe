// SPDX-License-Identifier: Apache-2.0
#include "exec/run/fused_block.h"

#include <algorithm>
#include <numeric>

#include "exec/kernels/scratch.h"
#include "exec/kernels/tensor_access.h"
#include "exec/run/fused_kernel.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kMaxElementBytes = 8;
constexpr int kSpread = 3;  // operands of one node that are broadcast, at most

// The rows of a block are its last dimension.
int32_t last_axis = 1;

// The loops of a block run on the thread that has the block.
CallersThread callers_thread;

int64_t BytesOf(DataType dtype, int64_t elements) {
  return elements * static_cast<int64_t>(ElementSize(dtype));
}

TensorRef RefOf(DataType dtype, const Shape& shape) {
  TensorRef ref;
  ref.dtype = dtype;
  ref.shape = shape;
  ref.capacity_bytes = BytesOf(dtype, shape.NumElements());
  return ref;
}

}  // namespace

FusedBlock::FusedBlock(const std::vector<FusedMember>& members, const FusedUnit& unit)
    : fused_(members), unit_(unit) {
  members_.reserve(unit.members.size());
  for (const size_t i : unit.members) {
    const FusedMember& fused = fused_[i];
    members_.push_back(
        {&fused, MemberContext(fused.node), std::vector<Place>(fused.inputs.size()), {}, {}, {}, {}});
    if (!unit.in_blocks) PlaceWhole(&members_.back());
  }
  FindPeriod();
}

void FusedBlock::FindPeriod() {
  period_ = unit_.run;
  for (const Member& member : members_) {
    for (const FusedInput& input : member.fused->inputs) {
      if (!input.broadcast || period_ == 0) continue;
      const int64_t period = input.broadcast->period() * ElementsPer(*member.fused);
      period_ = period == 0 || period > unit_.block ? 0 : std::lcm(period_, period);
    }
  }
}

bool FusedBlock::OnlyBeginsElsewhere(int64_t first, int64_t n) const {
  return n == n_ && period_ > 0 && first % period_ == 0 && first_ % period_ == 0 && n % period_ == 0;
}

void FusedBlock::MoveTo(int64_t first, int64_t n) {
  if (OnlyBeginsElsewhere(first, n)) return Shift(first - first_);
  first_ = first;
  n_ = n;
  for (Member& member : members_) member.fused->product ? PlaceProduct(&member) : PlaceOperands(&member);
}

void FusedBlock::Shift(int64_t elements) {
  first_ += elements;
  const auto shift = [&](Place& place) {
    if (place.per > 0) place.offset += elements / place.per * place.bytes;
  };
  for (Member& member : members_) {
    member.part.first += elements / ElementsPer(*member.fused);
    for (Place& input : member.inputs) shift(input);
    shift(member.output);
  }
}

void FusedBlock::Run(KernelContext& launch) {
  std::byte* const memory = ThreadScratch<FusedBlock, std::byte>((unit_.slots + kSpread) * slot_bytes());
  for (Member& member : members_) {
    try {
      RunMember(launch, memory, &member);
    } catch (const Error& error) {
      throw MemberError(error, member.fused->node.node);
    }
  }
}

int64_t FusedBlock::slot_bytes() const {
  constexpr int64_t kLine = 64;
  return (unit_.block * kMaxElementBytes + kLine - 1) / kLine * kLine;
}

// So many elements of the unit belong to one of the node's result.
int64_t FusedBlock::ElementsPer(const FusedMember& fused) const { return fused.one_a_row ? unit_.run : 1; }

// The part of a result that belongs to the elements of the block.
FusedBlock::Part FusedBlock::PartOf(bool one_a_row) const {
  if (one_a_row) return {first_ / unit_.run, n_ / unit_.run, 1};
  return {first_, n_ / unit_.run, unit_.run};
}

// In the runs of an input that changes from row to row, or is the same in each; one run where there is none.
FusedBlock::Part FusedBlock::InRuns(const FusedMember& fused) const {
  Part part{first_, 1, n_};
  for (const FusedInput& input : fused.inputs) {
    if (!input.broadcast) continue;
    input.broadcast->ForEachPiece(first_, first_ + n_, [&](const BroadcastPlan::Piece& piece) {
      const bool whole =
          piece.rows > 1 && piece.rows * piece.n == n_ && piece.row[0] != piece.step[0] * piece.n;
      if (whole && part.rows == 1) part = {first_, piece.rows, piece.n};
    });
  }
  return part;
}

void FusedBlock::PlaceWhole(Member* member) const {
  const FusedMember& fused = *member->fused;
  for (size_t k = 0; k < fused.inputs.size(); ++k) {
    const int input = fused.node.inputs[k];
    Place& place = member->inputs[k];
    place.memory = input >= 0 ? Memory::kInput : Memory::kOutput;
    place.number = input >= 0 ? input : fused_[static_cast<size_t>(-1 - input)].node.output;
    member->context.SetInput(k, RefOf(fused.inputs[k].dtype, fused.inputs[k].shape));
  }
  if (fused.node.output < 0) return;
  member->output = {.memory = Memory::kOutput, .number = fused.node.output};
  member->context.SetOutput(RefOf(fused.node.dtype, fused.node.shape));
}

// X is given from the block on, other operands from their own begin on.
void FusedBlock::PlaceProduct(Member* member) const {
  const FusedMember& fused = *member->fused;
  for (size_t k = 0; k < 2; ++k) {
    const int input = fused.node.inputs[k];
    member->inputs[k] = input >= 0 ? Place{.memory = Memory::kInput, .number = input}
                                   : PlaceOfMade(static_cast<size_t>(-1 - input));
  }
  member->output = fused.leaves ? Place{.memory = Memory::kOutput, .number = fused.node.output}
                                : PlaceOfMade(static_cast<size_t>(&fused - fused_.data()));
}

void FusedBlock::PlaceOperands(Member* member) const {
  const FusedMember& fused = *member->fused;
  member->part = unit_.run == 1 ? InRuns(fused) : PartOf(fused.one_a_row);
  for (size_t k = fused.updated; k < fused.inputs.size(); ++k) PlaceInput(k, member);
  if (fused.updated > 0) return;
  member->output = PlaceOfMade(static_cast<size_t>(&fused - fused_.data()));
  member->context.SetOutput(RefOf(fused.node.dtype, member->part.Full()));
  if (fused.loop.exists()) FindSteps(member);
}

// An operand has all elements, one, a row for all rows, or one element a row.
void FusedBlock::FindSteps(Member* member) const {
  const Part& part = member->part;
  const Shape full = part.Full();
  bool flat = true;
  for (size_t k = 0; k < member->inputs.size(); ++k) {
    const Shape& shape = member->context.input(static_cast<int>(k)).shape;
    const bool one = shape.NumElements() == 1, all = shape == full;
    const bool row = !one && !all && shape.rank() == 1;
    flat = flat && (one || all);
    member->steps[k] = all ? Steps{part.n, 1} : one ? Steps{0, 0} : row ? Steps{0, 1} : Steps{1, 0};
  }
  member->calls = flat ? Part{part.first, 1, part.size()} : part;
}

void FusedBlock::PlaceInput(size_t k, Member* member) const {
  const FusedMember& fused = *member->fused;
  const FusedInput& operand = fused.inputs[k];
  const int input = fused.node.inputs[k];
  Place& place = member->inputs[k];
  if (input < 0) {
    const auto number = static_cast<size_t>(-1 - input);
    const Part made = unit_.run == 1 ? member->part : PartOf(fused_[number].one_a_row);
    place = PlaceOfMade(number);
    // The only row's number is one for all: ops that take a scalar know it as such.
    const bool one = fused.role == FusionRole::kElementWise && made.size() == 1 && member->part.size() > 1;
    member->context.SetInput(k, RefOf(operand.dtype, one ? Shape{} : made.Full()));
  } else if (fused.role == FusionRole::kReduction && k == 1) {
    place = {.memory = Memory::kAxis};
    member->context.SetInput(k, RefOf(DataType::kInt32, Shape{1}));
  } else if (fused.updated > 0 && k != fused.gradient) {
    place = {.memory = Memory::kInput, .number = input};
    member->context.SetInput(k, RefOf(operand.dtype, operand.shape));
  } else if (operand.broadcast) {
    PlaceBroadcast(k, member);
  } else {
    const bool reduces = fused.role == FusionRole::kReduction;
    const Part read = reduces ? PartOf(false) : member->part;
    place = PlaceIn(Memory::kInput, input, operand.dtype, reduces ? 1 : ElementsPer(fused));
    member->context.SetInput(k, RefOf(operand.dtype, read.Full()));
  }
}

// The elements of a block of an input that is broadcast: where they are, if the kernel can find them there,
// else spread out.
void FusedBlock::PlaceBroadcast(size_t k, Member* member) const {
  const FusedInput& operand = member->fused->inputs[k];
  const Part& part = member->part;
  Place& place = member->inputs[k];
  place = {.memory = Memory::kSpread, .number = static_cast<int>(k)};
  Shape shape = part.Full();
  operand.broadcast->ForEachPiece(part.first, part.first + part.size(), [&](const auto& piece) {
    if (piece.rows * piece.n != part.size()) return;
    const bool rows_differ = piece.rows > 1 && piece.row[0] != 0;
    if (!rows_differ && piece.step[0] == 0) {
      shape = Shape{};
    } else if (piece.step[0] == 1 && (piece.rows == 1 || piece.row[0] == piece.n)) {
      shape = part.Full();
    } else if (piece.rows == part.rows && piece.n == part.n && piece.step[0] + piece.row[0] == 1) {
      shape = piece.step[0] == 1 ? Shape{piece.n} : Shape{piece.rows, 1};
    } else {
      return;
    }
    const int64_t bytes = BytesOf(operand.dtype, 1);
    place = {.memory = Memory::kInput,
             .number = member->fused->node.inputs[k],
             .offset = piece.offset[0] * bytes,
             .per = piece.row[0] != 0 ? piece.n * ElementsPer(*member->fused) : 0,
             .bytes = bytes};
  });
  member->context.SetInput(k, RefOf(operand.dtype, shape));
}

// A block of a result of node `number`.
FusedBlock::Place FusedBlock::PlaceOfMade(size_t number) const {
  const FusedMember& maker = fused_[number];
  if (maker.lies_at >= 0) return PlaceOfMade(static_cast<size_t>(maker.lies_at));
  if (maker.slot >= 0) return {.memory = Memory::kSlot, .number = maker.slot};
  return PlaceIn(Memory::kOutput, maker.node.output, maker.node.dtype, ElementsPer(maker));
}

FusedBlock::Place FusedBlock::PlaceIn(Memory memory, int number, DataType dtype, int64_t per) const {
  const int64_t bytes = BytesOf(dtype, 1);
  return {.memory = memory, .number = number, .offset = first_ / per * bytes, .per = per, .bytes = bytes};
}

void* FusedBlock::AddressOf(const Place& place, KernelContext& launch, std::byte* memory) const {
  switch (place.memory) {
    case Memory::kNone:
      return nullptr;
    case Memory::kInput:
      return launch.input(place.number).as<std::byte>() + place.offset;
    case Memory::kOutput:
      return launch.output(place.number).as<std::byte>() + place.offset;
    case Memory::kSlot:
      return memory + place.number * slot_bytes();
    case Memory::kSpread:
      return memory + (unit_.slots + place.number) * slot_bytes();
    case Memory::kAxis:
      return &last_axis;
  }
  return nullptr;
}

void FusedBlock::Spread(const Member& member, size_t k, const TensorRef& input, std::byte* to) const {
  const Part& part = member.part;
  DispatchBySize(input.dtype, [&]<typename T>(T) {
    if constexpr (!std::is_same_v<T, std::string>) {
      member.fused->inputs[k].broadcast->ForEachPiece(
          part.first, part.first + part.size(), [&](const BroadcastPlan::Piece& piece) {
            T* at = reinterpret_cast<T*>(to) + (piece.begin - part.first);
            for (int64_t row = 0; row < piece.rows; ++row, at += piece.n) {
              const T* from = input.as<const T>() + piece.offset[0] + row * piece.row[0];
              if (piece.step[0] == 1) {
                std::copy(from, from + piece.n, at);
              } else {
                std::fill(at, at + piece.n, *from);
              }
            }
          });
    }
  });
}

void FusedBlock::RunLoop(KernelContext& launch, std::byte* memory, const Member& member) const {
  const FusedMember& fused = *member.fused;
  std::array<Operand, 2> operands{};
  for (size_t k = 0; k < member.inputs.size(); ++k) {
    const Place& place = member.inputs[k];
    void* const data = AddressOf(place, launch, memory);
    if (place.memory == Memory::kSpread)
      Spread(member, k, launch.input(fused.node.inputs[k]), static_cast<std::byte*>(data));
    operands[k] = {data, member.steps[k].row, member.steps[k].element};
  }
  void* const result = AddressOf(member.output, launch, memory);
  if (fused.loop.unary != nullptr) return fused.loop.unary(member.calls.size(), operands[0].data, result);
  fused.loop.binary(member.calls.rows, member.calls.n, operands[0], operands[1], result);
}

void FusedBlock::RunMember(KernelContext& launch, std::byte* memory, Member* member) const {
  const FusedMember& fused = *member->fused;
  if (fused.product) {
    const auto at = [&](const Place& place) { return AddressOf(place, launch, memory); };
    return fused.product->Run(first_, n_, at(member->inputs[0]), at(member->inputs[1]), at(member->output));
  }
  if (fused.loop.exists()) return RunLoop(launch, memory, *member);
  MemberContext& context = member->context;
  context.Enter(launch, unit_.in_blocks ? &callers_thread : &launch.team());
  if (!unit_.in_blocks) context.TakeVariables();
  if (fused.updated > 0 && unit_.in_blocks)
    context.TakeParts(fused.updated, member->part.first, member->part.Full());
  for (size_t k = 0; k < member->inputs.size(); ++k) {
    const Place& place = member->inputs[k];
    if (place.memory == Memory::kNone) continue;
    void* const data = AddressOf(place, launch, memory);
    if (place.memory == Memory::kSpread)
      Spread(*member, k, launch.input(fused.node.inputs[k]), static_cast<std::byte*>(data));
    context.PointInput(k, data);
  }
  if (member->output.memory != Memory::kNone) context.PointOutput(AddressOf(member->output, launch, memory));
  fused.kernel->Compute(context);
}

}  // namespace lanescope::exec
