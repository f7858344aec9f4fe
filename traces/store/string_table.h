// SPDX-License-Identifier: Apache-2.0
// Texts of a trace, each stored once in StringIds. Private to traces/; owned by the writing thread.
// Internal to traces and gui.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "traces/store/sqlite.h"

namespace lanescope::traces {

// The texts of a file, by id.
std::unordered_map<int64_t, std::string> ReadTexts(Database& database);

class StringTable {
 public:
  // Learns what the file has already.
  explicit StringTable(Database& database);
  int64_t Intern(std::string_view text);
  // Forgets what a rolled back transaction took with it.
  void Reload();

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  Database* database_;
  Statement insert_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;
};

}  // namespace lanescope::traces
