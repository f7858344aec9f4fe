// SPDX-License-Identifier: Apache-2.0
// How the stand-in for cuDNN (include/cudnn.h) answers, and what it was asked.
#pragma once

namespace lanescope::exec::emulator {

struct CudnnBehaviour {
  enum class Answer {
    kConvolves,
    kNothingSupported,      // no algorithm for any shape
    kOnlyNondeterministic,  // algorithms that sum in changing orders
    kOnlyLargeWorkspaces,   // more than a launch may take
    kRefusesToRun,          // what an algorithm cannot do shows when it is called
    kFails,                 // the convolution, as if the GPU had failed
    kOutOfMemory,           // the convolution
    kNoHandle,              // cudnnCreate has no memory
  };
  Answer answer = Answer::kConvolves;
  int handles = 0;       // made
  int rankings = 0;      // of algorithms
  int convolutions = 0;  // calls, in any direction
  int runs = 0;          // of convolutions on streams, replays too
  bool exact = false;    // the math of the last convolution: without TF32
};
inline CudnnBehaviour cudnn;

}  // namespace lanescope::exec::emulator
