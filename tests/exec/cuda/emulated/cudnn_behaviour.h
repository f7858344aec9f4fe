// SPDX-License-Identifier: Apache-2.0
// How the stand-in for cuDNN (include/cudnn.h) answers, and what it was asked.
#pragma once

#include <cstdint>
#include <functional>

namespace lanescope::exec::emulator {

// The algorithms of each direction, told apart by number here.
enum CudnnAlgorithm {
  kNondeterministic,  // sums in changing orders
  kGood,              // in both orders
  kNeedsMuch,         // more workspace than a launch may take
  kOther,             // converts to halves
  kNotThisShape,
  kPlanes,  // of NCHW alone
  kCudnnAlgorithms
};

struct CudnnBehaviour {
  enum class Answer {
    kConvolves,
    kNothingSupported,  // no algorithm for any shape
    kOnlyNondeterministic,
    kOnlyLargeWorkspaces,
    kOnlyPlanes,
    kRefusesToRun,  // what an algorithm cannot do shows when it is called
    kFails,         // the convolution, as if the GPU had failed
    kOutOfMemory,   // the convolution
    kNoHandle,      // cudnnCreate has no memory
  };
  Answer answer = Answer::kConvolves;
  int handles = 0;                         // made
  int rankings = 0;                        // of algorithms
  int convolutions = 0;                    // calls, in any direction
  int runs = 0;                            // of convolutions on streams, replays too
  int ran[2][kCudnnAlgorithms] = {};       // those, by order (1: NCHW) and algorithm
  int last_order = 0, last_algorithm = 0;  // of those
  bool exact = false;                      // the math of the last convolution: without TF32
  size_t version = 91900;
  // How long a run takes, in ns, by order, algorithm and how many there were before; null: no time.
  std::function<int64_t(int order, int algorithm, int before)> takes_ns;
};
inline CudnnBehaviour cudnn;

}  // namespace lanescope::exec::emulator
