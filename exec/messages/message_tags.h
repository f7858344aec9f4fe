// SPDX-License-Identifier: Apache-2.0
// Which tags messages between processes have.
#pragma once

namespace lanescope::exec {

// Tags that belong to no step.
inline constexpr int kSignOfLifeTag = 0, kClockTag = 1, kNetworkTag = 2, kStartTag = 3, kLetterTag = 4,
                     kPeerTag = 5, kHandedInTag = 6;
// Steps have tags from here to Transport::most_tag().
inline constexpr int kFirstStepTag = 8;

}  // namespace lanescope::exec
