// SPDX-License-Identifier: Apache-2.0
#include "exec/run/fused_slots.h"

#include <algorithm>
#include <map>

namespace lanescope::exec {
namespace {

// By node that makes a result: the last one that reads it.
using LastReaders = std::map<size_t, size_t>;

// The slot of an operand that an element-wise node is the last to read: blocks then take less of the cache.
// -1 where there is none.
int TakeOver(const std::vector<FusedMember>& members, size_t number, LastReaders* last_reader) {
  const FusedMember& member = members[number];
  if (!member.in_place) return -1;
  for (const int input : member.node.inputs) {
    if (input >= 0) continue;
    const auto made = static_cast<size_t>(-1 - input);
    const FusedMember& maker = members[made];
    const auto last = last_reader->find(made);
    if (maker.slot < 0 || last == last_reader->end() || last->second != number ||
        maker.node.dtype != member.node.dtype || maker.one_a_row != member.one_a_row ||
        std::ranges::count(member.node.inputs, input) > 1)
      continue;
    last_reader->erase(last);
    return maker.slot;
  }
  return -1;
}

// Whether the output of `writer` may be the memory of an input that the node reads. Such an input has as many
// elements, of the same type.
bool ReadsWhatMayBe(const FusedMember& writer, const FusedMember& reader) {
  for (size_t k = 0; k < reader.inputs.size(); ++k) {
    if (reader.node.inputs[k] >= 0 && reader.inputs[k].dtype == writer.node.dtype &&
        reader.inputs[k].shape.NumElements() == writer.node.shape.NumElements())
      return true;
  }
  return false;
}

// Whether a block of what `made` makes may lie where `writer`, which is the last to read it, will write.
bool MayLieAt(const std::vector<FusedMember>& members, const FusedUnit& unit, size_t made, size_t writer,
              const LastReaders& last_reader) {
  const FusedMember &maker = members[made], &to = members[writer];
  const auto last = last_reader.find(made);
  if (maker.node.output >= 0 || maker.updated > 0 || maker.lies_at >= 0 ||
      maker.node.dtype != to.node.dtype || maker.one_a_row != to.one_a_row || last == last_reader.end() ||
      last->second != writer || (!maker.in_place && ReadsWhatMayBe(to, maker)))
    return false;
  return std::ranges::none_of(
      unit.members, [&](size_t i) { return i > made && i <= writer && ReadsWhatMayBe(to, members[i]); });
}

// A chain of element-wise nodes works in the memory of its last result, and takes no slot of the cache beside
// it.
void FindPlacesInOutputs(std::vector<FusedMember>* members, const FusedUnit& unit,
                         const LastReaders& last_reader) {
  if (unit.matrix > 0) return;
  for (auto i = unit.members.rbegin(); i != unit.members.rend(); ++i) {
    const FusedMember& writer = (*members)[*i];
    const int at = writer.lies_at >= 0 ? writer.lies_at : static_cast<int>(*i);
    if (!writer.in_place || !(*members)[static_cast<size_t>(at)].planned) continue;
    for (const int input : writer.node.inputs) {
      const auto made = static_cast<size_t>(-1 - input);
      if (input >= 0 || !MayLieAt(*members, unit, made, *i, last_reader)) continue;
      (*members)[made].lies_at = at;
      break;
    }
  }
}

}  // namespace

void AssignSlots(std::vector<FusedMember>* members, FusedUnit* unit) {
  LastReaders last_reader;
  for (const size_t i : unit->members) {
    for (const int input : (*members)[i].node.inputs) {
      if (input < 0) last_reader[static_cast<size_t>(-1 - input)] = i;
    }
  }
  FindPlacesInOutputs(members, *unit, last_reader);
  std::vector<int> free;
  for (const size_t i : unit->members) {
    FusedMember& member = (*members)[i];
    const bool needs_slot = member.node.output < 0 && member.updated == 0 && member.lies_at < 0;
    if (needs_slot) member.slot = TakeOver(*members, i, &last_reader);
    if (needs_slot && member.slot < 0) {
      if (free.empty()) free.push_back(unit->slots++);
      member.slot = free.back();
      free.pop_back();
    }
    for (const auto& [made, reader] : last_reader) {
      if (reader == i && (*members)[made].slot >= 0) free.push_back((*members)[made].slot);
    }
    std::erase_if(last_reader, [&](const auto& entry) { return entry.second == i; });
  }
}

}  // namespace lanescope::exec
