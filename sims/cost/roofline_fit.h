// SPDX-License-Identifier: Apache-2.0
// A straight-line model of time over work, fitted to measured points.
#pragma once

#include <span>

namespace lanescope::sims {

struct WorkPoint {
  double flops = 0;
  double bytes = 0;
  double ns = 0;
};

// ns = fixed_ns + ns_per_flop * flops + ns_per_byte * bytes, no coefficient negative.
struct RooflineFit {
  double fixed_ns = 0;
  double ns_per_flop = 0;
  double ns_per_byte = 0;
  double spread = 0;  // nine of ten fitted points lie within this fraction of their prediction
  int points = 0;
  double max_flops = 0, max_bytes = 0;  // of the fitted points

  double Predict(double flops, double bytes) const {
    return fixed_ns + ns_per_flop * flops + ns_per_byte * bytes;
  }
};

// Least squares of the relative errors, so that short and long points count alike. Points without a positive
// time are left out. Every subset of the three terms is solved and the best one without a negative
// coefficient is taken (fewer terms first when equally good): exact for three terms, no iteration.
RooflineFit FitRoofline(std::span<const WorkPoint> points);

}  // namespace lanescope::sims
