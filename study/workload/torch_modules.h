// SPDX-License-Identifier: Apache-2.0
// The modules of an exported model as a plan of PyTorch names them.
#pragma once

#include <string>

#include "sims/plans/model_shape.h"
#include "sims/plans/pytorch_text.h"

namespace lanescope::study {

// `graph`: a graph that lanescope.torch.export saved with its modules beside it. Over `tp` GPUs every linear
// layer is cut as the strategy tensor-parallel cuts its matrix; what that refuses stands in `left_whole`, as
// does what PyTorch cannot cut like this. Of a shape, or a graph without modules, those of torchtitan. Throws
// what ModuleTree and Workload throw.
sims::plans::TorchModules TorchModulesOf(const std::string& graph, const sims::plans::ModelShape& shape,
                                         int tp);

}  // namespace lanescope::study
