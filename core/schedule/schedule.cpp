// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/schedule.h"

namespace lanescope {

std::string_view CommandKindName(CommandKind kind) {
  switch (kind) {
    case CommandKind::kLaunch:
      return "launch";
    case CommandKind::kCopy:
      return "copy";
    case CommandKind::kRecord:
      return "record";
    case CommandKind::kWait:
      return "wait";
  }
  return "launch";
}

}  // namespace lanescope
