#include "study/comparison.h"

namespace lanescope::study {

double ComparisonRow::step_ns() const {
  if (measured) return measured->statistics.step_ns->median;
  return predicted ? static_cast<double>(predicted->prediction.step_ns) : 0;
}

std::optional<double> ComparisonRow::error() const {
  if (!measured || !predicted) return std::nullopt;
  const double median = measured->statistics.step_ns->median;
  return (static_cast<double>(predicted->prediction.step_ns) - median) / median;
}

}  // namespace lanescope::study
