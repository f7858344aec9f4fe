// SPDX-License-Identifier: Apache-2.0
#include "graphs/mirrored.h"

#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"

namespace lanescope::graphs {

Mirrored::Mirrored(Scope& scope, std::vector<std::string> devices, AllReduceBy by)
    : scope_(scope), devices_(std::move(devices)), by_(by) {
  if (devices_.empty()) Throw(Code::kInvalidArgument, "replicas want at least one device");
}

Endpoint Mirrored::Minimize(Optimizer& optimizer, const std::vector<Endpoint>& losses,
                            const ApplyOptions& options) {
  if (losses.size() != devices_.size()) {
    Throw(Code::kInvalidArgument, "{} losses of {} replicas", losses.size(), devices_.size());
  }
  std::vector<std::vector<GradientOf>> gradients;
  for (size_t i = 0; i < devices_.size(); ++i) {
    MinimizeOptions of_replica{.colocate_gradients_with_ops = true};
    for (const Variable* variable : scope_.variables()) {
      if (variable->trainable && variable->replica == static_cast<int>(i)) {
        of_replica.variables.push_back(variable);
      }
    }
    const auto device = scope_.Device(devices_[i]);
    const auto names = scope_.Name("replica_" + std::to_string(i));
    gradients.push_back(optimizer.ComputeGradients(scope_, losses[i], of_replica));
  }
  std::vector<GradientOf> all;
  for (const auto& replica : ReduceGradients(std::move(gradients))) {
    all.insert(all.end(), replica.begin(), replica.end());
  }
  return optimizer.ApplyGradients(scope_, all, options);
}

std::vector<std::vector<GradientOf>> Mirrored::ReduceGradients(
    std::vector<std::vector<GradientOf>> gradients) {
  for (size_t v = 0; v < gradients[0].size(); ++v) {
    std::vector<Endpoint> dense;
    std::vector<const IndexedSlices*> rows;
    for (const auto& replica : gradients) {
      if (replica.size() != gradients[0].size()) {
        Throw(Code::kInvalidArgument, "replicas have {} and {} variables", gradients[0].size(),
              replica.size());
      }
      const Gradient& gradient = replica[v].gradient;
      if (gradient.is_slices()) rows.push_back(&gradient.slices());
      if (!gradient.is_slices() && !gradient.empty()) dense.push_back(gradient.dense());
    }
    if (dense.empty() && rows.empty()) continue;
    std::vector<Gradient> reduced;
    if (dense.size() == devices_.size()) {
      for (const Endpoint mean : AllReduce(scope_, dense, devices_, {.by = by_, .mean = true})) {
        reduced.emplace_back(mean);
      }
    } else if (rows.size() == devices_.size()) {
      reduced = ReduceRows(rows);
    } else {
      Throw(Code::kInvalidArgument, "replicas have different kinds of gradients of variable '{}'",
            gradients[0][v].variable->name);
    }
    for (size_t i = 0; i < devices_.size(); ++i) gradients[i][v].gradient = reduced[i];
  }
  return gradients;
}

// Rows are not added: every device gets those of all.
std::vector<Gradient> Mirrored::ReduceRows(const std::vector<const IndexedSlices*>& rows) {
  const auto names = scope_.Name("AllGather");
  std::vector<Endpoint> values, indices;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto device = scope_.Device(devices_[i]);
    values.push_back(Div(scope_, rows[i]->values, static_cast<double>(rows.size())));
    indices.push_back(rows[i]->indices);
  }
  std::vector<Gradient> gathered;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto device = scope_.Device(devices_[i]);
    const Endpoint all_values = op::ConcatV2(scope_, values, 0, {.name = "concat"});
    const Endpoint all_indices = op::ConcatV2(scope_, indices, 0, {.name = "concat"});
    gathered.push_back(IndexedSlices{all_values, all_indices, rows[i]->dense_shape});
  }
  return gathered;
}

}  // namespace lanescope::graphs
