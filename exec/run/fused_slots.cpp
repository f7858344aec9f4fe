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

}  // namespace

void AssignSlots(std::vector<FusedMember>* members, FusedUnit* unit) {
  LastReaders last_reader;
  for (const size_t i : unit->members) {
    for (const int input : (*members)[i].node.inputs) {
      if (input < 0) last_reader[static_cast<size_t>(-1 - input)] = i;
    }
  }
  std::vector<int> free;
  for (const size_t i : unit->members) {
    FusedMember& member = (*members)[i];
    const bool needs_slot = member.node.output < 0 && member.updated == 0;
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
