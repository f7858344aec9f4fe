// SPDX-License-Identifier: Apache-2.0
#include "traces/read/activity_names.h"

#include <fmt/core.h>

#include <iterator>

namespace lanescope::traces {
namespace {

struct CopyKindName {
  std::string_view brief, full;
};
constexpr CopyKindName kCopyKinds[] = {{"unknown", "Unknown"},
                                       {"HtoD", "Host-to-Device"},
                                       {"DtoH", "Device-to-Host"},
                                       {"HtoA", "Host-to-Array"},
                                       {"AtoH", "Array-to-Host"},
                                       {"AtoA", "Array-to-Array"},
                                       {"AtoD", "Array-to-Device"},
                                       {"DtoA", "Device-to-Array"},
                                       {"DtoD", "Device-to-Device"},
                                       {"HtoH", "Host-to-Host"},
                                       {"PtoP", "Peer-to-Peer"},
                                       {"Unified HtoD", "Unified Host-to-Device"},
                                       {"Unified DtoH", "Unified Device-to-Host"},
                                       {"Unified DtoD", "Unified Device-to-Device"}};

const CopyKindName& CopyKindOf(int64_t kind) {
  const bool known = kind >= 0 && kind < static_cast<int64_t>(std::size(kCopyKinds));
  return kCopyKinds[known ? kind : 0];
}

}  // namespace

std::string NvprofCopyName(int64_t kind) { return fmt::format("[CUDA memcpy {}]", CopyKindOf(kind).brief); }
std::string NsysCopyName(int64_t kind) { return fmt::format("[CUDA memcpy {}]", CopyKindOf(kind).full); }

std::string_view RangeName(std::string_view text) {
  for (const std::string_view argument : {", seq = ", ", op_id = ", ", sizes = "}) {
    text = text.substr(0, text.find(argument));
  }
  return text;
}

}  // namespace lanescope::traces
