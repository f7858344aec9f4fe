// SPDX-License-Identifier: Apache-2.0
// Measured training steps of GPT models: files with a row a step.
#pragma once

#include <string>
#include <vector>

#include "sims/megatron/gpt_step.h"

namespace lanescope::sims::megatron {

struct MeasuredRow {
  GptModel model;
  GptLayout layout;
  double measured_ms = 0;
};

// Comma-separated, with a line of column names: "# GPUs", "global batch", "micro batch", "hidden size",
// "attention heads", "# layers", "sequence length", "tensor parallelism", "data parallelism", "pipeline
// parallelism", "iteration time (ms)", in any order and beside others; blank lines and blanks around cells
// say nothing. One program trained all layouts of a model: activations are recomputed in all of them if one
// of them would not fit otherwise. Throws InvalidArgument for what is no such file, with the line.
std::vector<MeasuredRow> ReadMeasuredRows(const std::string& path, const Gpu& gpu);

}  // namespace lanescope::sims::megatron
