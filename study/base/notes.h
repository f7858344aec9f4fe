// SPDX-License-Identifier: Apache-2.0
// Messages of a study while it works: progress, and notes for its user.
#pragma once

#include <functional>
#include <string>

namespace lanescope::study {

// Gets one line at a time, without a line break at its end, on the thread that works. Texts of files may be
// part of it. Empty: nobody listens.
using Notes = std::function<void(const std::string&)>;

inline void Tell(const Notes& note, const std::string& line) {
  if (note) note(line);
}

}  // namespace lanescope::study
