// SPDX-License-Identifier: Apache-2.0
// A process of a job whose program is of the next protocol.
#include <cstdio>

#include "core/base/error.h"
#include "study/job/mpi_library.h"

int main() {
  using namespace lanescope;
  try {
    study::MpiLibrary(true).Greet(kJobProtocol + 1);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.message().c_str());
    return 1;
  }
  return 0;
}
