// SPDX-License-Identifier: Apache-2.0
#include "core/base/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace lanescope {

void PreferHugePages(const void* begin, size_t bytes) {
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = (address + kPage - 1) / kPage * kPage, end = (address + bytes) / kPage * kPage;
  if (first >= end) return;
  // Other kernels know no such advice: the tables then stay on small pages.
  static_cast<void>(madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE));
}

}  // namespace lanescope
