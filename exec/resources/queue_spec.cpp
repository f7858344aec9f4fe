// SPDX-License-Identifier: Apache-2.0
#include "exec/resources/queue_spec.h"

#include <fmt/ranges.h>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

std::string TypeList(const std::vector<DataType>& types) {
  std::vector<std::string> names;
  for (const DataType type : types) names.push_back(DataTypeName(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string ShapeList(const std::vector<Shape>& shapes) {
  std::vector<std::string> texts;
  for (const Shape& shape : shapes) texts.push_back(shape.ToString());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

bool AreCompatible(const std::vector<Shape>& a, const std::vector<Shape>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].rank() != b[i].rank()) return false;
    for (int d = 0; d < a[i].rank(); ++d) {
      if (IsExact(a[i][d]) && IsExact(b[i][d]) && a[i][d] != b[i][d]) return false;
    }
  }
  return true;
}

void CheckShapes(const QueueSpec& spec) {
  const bool is_padding = spec.kind == TensorQueueKind::kPaddingFifo;
  if (spec.shapes.size() != spec.types.size() && (is_padding || !spec.shapes.empty())) {
    // A queue without shapes is described as TensorFlow's own declaration does it, too.
    Throw(Code::kInvalidArgument,
          "Shapes must be provided for all components, but received {} dtypes and {} shapes.{}",
          spec.types.size(), spec.shapes.size(),
          spec.shapes.empty() ? " When providing partial shapes, a list of shapes must be provided." : "");
  }
  for (size_t i = 0; i < spec.shapes.size(); ++i) {
    const Shape& shape = spec.shapes[i];
    if (!shape.known_rank())
      Throw(Code::kInvalidArgument, "shape {} must have known rank.", shape.ToString());
    if (!is_padding && !shape.IsExact()) {
      Throw(Code::kInvalidArgument,
            "shape {} of component {} must be fully defined; a PaddingFIFOQueue takes unknown dimensions",
            shape.ToString(), i);
    }
    // A batch of it has one more dimension.
    if (shape.rank() >= Shape::kMaxRank) {
      Throw(Code::kUnimplemented, "shape {} of component {} has more than {} dimensions", shape.ToString(), i,
            Shape::kMaxRank - 1);
    }
  }
}

}  // namespace

std::string_view TensorQueueKindName(TensorQueueKind kind) {
  switch (kind) {
    case TensorQueueKind::kFifo:
      return "FIFOQueue";
    case TensorQueueKind::kRandomShuffle:
      return "RandomShuffleQueue";
    case TensorQueueKind::kPaddingFifo:
      return "PaddingFIFOQueue";
  }
  LANESCOPE_CHECK(false);
  return "";
}

void CheckQueueSpec(const QueueSpec& spec) {
  if (spec.types.empty()) Throw(Code::kInvalidArgument, "a queue must have at least one component");
  CheckShapes(spec);
  if (spec.kind != TensorQueueKind::kRandomShuffle) return;
  if (spec.min_after_dequeue < 0) {
    Throw(Code::kInvalidArgument, "min_after_dequeue {} must be >= 0", spec.min_after_dequeue);
  }
  if (spec.capacity >= 0 && spec.min_after_dequeue >= spec.capacity) {
    Throw(Code::kInvalidArgument, "min_after_dequeue {} must be < capacity {}", spec.min_after_dequeue,
          spec.capacity);
  }
}

void CheckSharedQueue(const std::string& name, const QueueSpec& existing, const QueueSpec& requested,
                      const std::string& node) {
  const auto refuse = [&](const std::string& what) {
    Throw(Code::kInvalidArgument, "Shared queue '{}' has {}", name, what);
  };
  if (existing.kind != requested.kind) {
    refuse(fmt::format("type {} that does not match type of Node '{}': {}",
                       TensorQueueKindName(existing.kind), node, TensorQueueKindName(requested.kind)));
  }
  const auto limit = [](int64_t capacity) { return capacity < 0 ? -1 : capacity; };
  if (limit(existing.capacity) != limit(requested.capacity)) {
    refuse(fmt::format("capacity {} but requested capacity was {}", limit(existing.capacity),
                       limit(requested.capacity)));
  }
  if (existing.types != requested.types) {
    refuse(fmt::format("component types {} but requested component types were {}", TypeList(existing.types),
                       TypeList(requested.types)));
  }
  const bool same_shapes = existing.kind == TensorQueueKind::kPaddingFifo
                               ? AreCompatible(existing.shapes, requested.shapes)
                               : existing.shapes == requested.shapes;
  if (!same_shapes) {
    refuse(fmt::format("component shapes {} but requested component shapes were {}",
                       ShapeList(existing.shapes), ShapeList(requested.shapes)));
  }
  if (existing.kind != TensorQueueKind::kRandomShuffle) return;
  if (existing.min_after_dequeue != requested.min_after_dequeue) {
    refuse(fmt::format("min_after_dequeue {} but requested min_after_dequeue was {}.",
                       existing.min_after_dequeue, requested.min_after_dequeue));
  }
  // A request without a seed takes any order.
  const bool any_order = requested.seed == 0 && requested.seed2 == 0;
  if (!any_order && (existing.seed != requested.seed || existing.seed2 != requested.seed2)) {
    refuse(fmt::format("random seeds ({}, {}) but requested seeds are ({}, {}).", existing.seed,
                       existing.seed2, requested.seed, requested.seed2));
  }
}

}  // namespace lanescope::exec
