// SPDX-License-Identifier: Apache-2.0
// The shapes of models that plans are asked for.
#pragma once

#include <string>

#include "sims/plans/model_shape.h"

namespace lanescope::study {

// A published model by name, a file with a shape (.json), or a graph. Throws what ReadModel, Workload and
// ShapeOfGraph throw.
sims::plans::ModelShape ReadModelShape(const std::string& name_or_file);

}  // namespace lanescope::study
