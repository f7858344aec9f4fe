// SPDX-License-Identifier: Apache-2.0
// Large pages for large tables.
#pragma once

#include <cstddef>

namespace lanescope {

// Asks the system to back `bytes` from `begin` on, which nobody has written yet, by huge pages where that is
// left to programs (Linux: transparent huge pages by madvise). Tables that are read in any order then miss
// fewer entries of the processor's page tables. A hint: nothing happens where it is not possible, or where
// the range holds no such page.
void PreferHugePages(const void* begin, size_t bytes);

}  // namespace lanescope
