// SPDX-License-Identifier: Apache-2.0
#include "traces/import/wire_message.h"

#include <bit>

#include "core/base/error.h"

namespace lanescope::traces {

bool WireMessage::Next() {
  if (reader_.Next()) return true;
  if (reader_.is_damaged()) {
    Throw(Code::kDataLoss, "{} is damaged, or no protobuf file of a profiler", *path_);
  }
  return false;
}

double WireMessage::Real() const {
  if (reader_.type() == WireType::kFixed64) return std::bit_cast<double>(reader_.number());
  if (reader_.type() == WireType::kFixed32)
    return std::bit_cast<float>(static_cast<uint32_t>(reader_.number()));
  return 0;
}

}  // namespace lanescope::traces
