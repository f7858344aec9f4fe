// SPDX-License-Identifier: Apache-2.0
// A plan as what other programs take.
#pragma once

#include <string>

#include "sims/plans/plan.h"

namespace lanescope::sims::plans {

// Arguments of torchtitan's train.py; of Megatron-LM's pretrain_gpt.py. Lines with a line break at the end.
// What a program cannot do stands in a comment.
std::string TorchtitanText(const Plan& plan, const ModelShape& model, double global_batch, double sequence);
std::string MegatronText(const Plan& plan, const ModelShape& model, double global_batch, double sequence);

}  // namespace lanescope::sims::plans
