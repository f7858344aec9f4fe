// SPDX-License-Identifier: Apache-2.0
// The quantities that a gate looks at: of every run, how much of what a step takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanescope::study {

struct Quantity {
  enum class Kind {
    kStep,         // the length of a usual step
    kFastest,      // of the fastest tenth of the steps: what is left when others take nothing
    kKernels,      // launches that are no communication, added up over the devices
    kCollectives,  // NCCL's kernels and copies between devices, added up
    kIdle,    // of a step, when nothing runs on a device: the mean of the GPUs, or of the hosts without any
    kMemory,  // what the devices hold at most, added up
    kOp,      // launches and copies of the ops that `op` names
    kWall     // from a command's start to its end
  };
  Kind kind = Kind::kStep;
  std::string op;  // "MatMul_1", "*gemm*": "*" stands for any characters, "?" for one

  bool operator==(const Quantity&) const = default;
  // "step", "op:*gemm*".
  std::string name() const;
  bool is_bytes() const { return kind == Kind::kMemory; }
  // A trace knows it: no other run of the same program holds more or less.
  bool is_exact() const { return kind == Kind::kMemory; }
};

// "step,memory,op:MatMul"; what follows "op:" is one name, commas included. Each quantity once. Throws
// InvalidArgument, with what there is.
std::vector<Quantity> ParseQuantities(std::string_view list);

}  // namespace lanescope::study
