// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/order_claims.h"

#include <algorithm>
#include <cstdint>

namespace lanescope {

// In blocks of columns: bit k of row c says that command (block + k) is complete before c starts.
void OrderClaims::Check(
    const IdVector<CommandId, std::vector<CommandId>>& predecessors,
    const std::function<void(const char* law, CommandId before, CommandId after)>& broken) {
  std::sort(claims_.begin(), claims_.end(), [](const Item& a, const Item& b) { return a.before < b.before; });
  constexpr int kBlock = 2048;
  constexpr int kWords = kBlock / 64;
  const auto count = static_cast<int>(predecessors.size());
  std::vector<uint64_t> rows(predecessors.size() * kWords);
  size_t next = 0;
  for (int begin = 0; begin < count && next < claims_.size(); begin += kBlock) {
    if (claims_[next].before.number() >= begin + kBlock) continue;
    std::fill(rows.begin(), rows.end(), 0);
    for (int c = begin; c < count; ++c) {
      uint64_t* row = rows.data() + static_cast<size_t>(c) * kWords;
      for (const CommandId id : predecessors[CommandId(c)]) {
        const int before = id.number();
        const uint64_t* other = rows.data() + id.index() * kWords;
        for (int w = 0; w < kWords; ++w) row[w] |= other[w];
        if (before >= begin && before < begin + kBlock)
          row[(before - begin) / 64] |= uint64_t{1} << ((before - begin) % 64);
      }
    }
    for (; next < claims_.size() && claims_[next].before.number() < begin + kBlock; ++next) {
      const Item& claim = claims_[next];
      const uint64_t* row = rows.data() + claim.after.index() * kWords;
      const int bit = claim.before.number() - begin;
      if (claim.after <= claim.before || ((row[bit / 64] >> (bit % 64)) & 1) == 0)
        broken(claim.law, claim.before, claim.after);
    }
  }
}

}  // namespace lanescope
