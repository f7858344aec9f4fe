// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/layout_conversions.h"

#include <fmt/core.h>

#include <array>

namespace lanescope {
namespace {

// Collectives carry another type where they do not take this one; it comes back as it was.
DataType CarriedAs(DataType type) {
  switch (type) {
    case DataType::kFloat:
    case DataType::kHalf:
    case DataType::kBfloat16:
    case DataType::kDouble:
    case DataType::kInt32:
    case DataType::kInt64:
      return type;
    default:
      return DataType::kInt32;
  }
}

}  // namespace

NodeBuilder LayoutConversions::New(std::string_view op, const std::string& scope, std::string_view name,
                                   size_t device) {
  return nodes_.New(op, fmt::format("{}{}_{}", scope, name, device), devices_[device]);
}

Endpoint LayoutConversions::Reshape(const std::string& scope, std::string_view name, Endpoint tensor,
                                    const Shape& shape, size_t device) {
  const Endpoint dims = nodes_.Numbers(fmt::format("{}{}_shape_{}", scope, name, device),
                                       {shape.dims().begin(), shape.dims().end()});
  return New("Reshape", scope, name, device).Input(tensor).Input(dims).Build();
}

std::vector<int64_t> LayoutConversions::PiecesByDevice() const {
  std::vector<int64_t> pieces;
  for (size_t r = 0; r < devices_.size(); ++r) {
    for (size_t number = 0; number < PiecesOf(order_); ++number)
      pieces.push_back(static_cast<int64_t>(PieceOfDevice(order_, devices_.size(), r, number)));
  }
  return pieces;
}
std::vector<int64_t> LayoutConversions::PiecesByPlace() const {
  const std::vector<int64_t> pieces = PiecesByDevice();
  std::vector<int64_t> places(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) places[static_cast<size_t>(pieces[i])] = static_cast<int64_t>(i);
  return places;
}

Endpoint LayoutConversions::Ordered(const std::string& scope, Endpoint tensor,
                                    const std::vector<int64_t>& order, int64_t rows, int64_t rest,
                                    size_t device) {
  const auto pieces = static_cast<int64_t>(PiecesOf(order_));
  const Endpoint cube =
      Reshape(scope, "pieces", tensor, Shape{rows, count() * pieces, rest / pieces}, device);
  const Endpoint places = nodes_.Numbers(fmt::format("{}places_{}", scope, device), order),
                 axis = nodes_.Number(fmt::format("{}axis_{}", scope, device), 1);
  return New("GatherV2", scope, "ordered", device).Input(cube).Input(places).Input(axis).Build();
}

// As a matrix of devices, [rows, devices, rest].
Shards LayoutConversions::Cut(const std::string& scope, const Shards& tensor, const Shape& shape,
                              const Layout& to) {
  const int64_t rows = RowsBeforeCut(shape, to);
  const int64_t rest = shape.NumElements() / rows / count();
  const Endpoint size = nodes_.Numbers(scope + "size", {rows, 1, rest});
  Shards parts;
  if (order_ != RingOrder::kInARow) {
    const std::vector<int64_t> pieces = PiecesByDevice();
    for (size_t r = 0; r < devices_.size(); ++r) {
      const Endpoint own = Ordered(scope, tensor[r], {pieces[2 * r], pieces[2 * r + 1]}, rows, rest, r);
      parts.push_back(Reshape(scope, "part", own, ShapeOnDevice(shape, to, count()), r));
    }
    return parts;
  }
  for (size_t r = 0; r < devices_.size(); ++r) {
    const Endpoint cube = Reshape(scope, "cube", tensor[r], Shape{rows, count(), rest}, r);
    const Endpoint begin =
        nodes_.Numbers(fmt::format("{}begin_{}", scope, r), {0, static_cast<int64_t>(r), 0});
    const Endpoint part = New("Slice", scope, "cut", r).Input(cube).Input(begin).Input(size).Build();
    parts.push_back(Reshape(scope, "part", part, ShapeOnDevice(shape, to, count()), r));
  }
  return parts;
}

Shards LayoutConversions::Gather(const std::string& scope, const Shards& tensor, const Shape& shape,
                                 const Layout& from) {
  const int64_t rows = RowsBeforeCut(shape, from);
  const int64_t rest = shape.NumElements() / rows / count();
  const std::array<Endpoint, 3> keys = nodes_.NewGroup(scope, devices_.size());
  const Endpoint order = rows > 1 ? nodes_.Numbers(scope + "order", {1, 0, 2}) : Endpoint();
  Shards whole;
  for (size_t r = 0; r < devices_.size(); ++r) {
    const Endpoint flat = Reshape(scope, "flat", tensor[r], Shape{rows * rest}, r);
    Endpoint all = New("CollectiveGatherV2", scope, "gather", r).Input(flat).Inputs(keys).Build();
    if (rows > 1) {
      all = Reshape(scope, "cube", all, Shape{count(), rows, rest}, r);
      all = New("Transpose", scope, "turned", r).Input(all).Input(order).Build();
    }
    if (order_ != RingOrder::kInARow) all = Ordered(scope, all, PiecesByPlace(), rows, rest, r);
    whole.push_back(Reshape(scope, "whole", all, shape, r));
  }
  return whole;
}

Shards LayoutConversions::ScatterSum(const std::string& scope, const Shards& tensor, const Shape& shape,
                                     const Layout& to) {
  const int64_t rows = RowsBeforeCut(shape, to);
  const int64_t rest = shape.NumElements() / rows / count();
  const std::array<Endpoint, 3> keys = nodes_.NewGroup(scope, devices_.size());
  const Endpoint order = rows > 1 ? nodes_.Numbers(scope + "order", {1, 0, 2}) : Endpoint();
  Shards parts;
  for (size_t r = 0; r < devices_.size(); ++r) {
    Endpoint all = tensor[r];
    if (order_ != RingOrder::kInARow) all = Ordered(scope, all, PiecesByDevice(), rows, rest, r);
    if (rows > 1) {
      all = Reshape(scope, "cube", all, Shape{rows, count(), rest}, r);
      all = New("Transpose", scope, "turned", r).Input(all).Input(order).Build();
    }
    all = Reshape(scope, "flat", all, Shape{rows * count() * rest}, r);
    const Endpoint part = New("CollectiveReduceScatterV2", scope, "scatter", r)
                              .Input(all)
                              .Inputs(keys)
                              .Attr("merge_op", "Add")
                              .Attr("final_op", "Id")
                              .Build();
    parts.push_back(Reshape(scope, "part", part, ShapeOnDevice(shape, to, count()), r));
  }
  return parts;
}

Shards LayoutConversions::Cast(const std::string& scope, std::string_view name, const Shards& tensor,
                               DataType from, DataType to) {
  if (from == to) return tensor;
  Shards other;
  for (size_t r = 0; r < devices_.size(); ++r)
    other.push_back(New("Cast", scope, name, r).Input(tensor[r]).Attr("DstT", to).Build());
  return other;
}

Shards LayoutConversions::Reduce(const std::string& scope, const Shards& tensor, DataType type,
                                 const std::string& how) {
  const DataType carried = CarriedAs(type);
  const Shards sent = Cast(scope, "carried", tensor, type, carried);
  Shards whole;
  for (size_t r = 0; r < devices_.size(); ++r) {
    whole.push_back(New("NcclAllReduce", scope, "reduce", r)
                        .Input(sent[r])
                        .Attr("reduction", how)
                        .Attr("num_devices", count())
                        .Attr("shared_name", scope)
                        .Build());
  }
  return Cast(scope, "back", whole, carried, type);
}

Shards LayoutConversions::Greatest(const std::string& scope, const Shards& tensor, DataType type) {
  return Reduce(scope + "greatest/", tensor, type, "max");
}

Shards LayoutConversions::Sum(const std::string& scope, const Shards& tensor, DataType type) {
  return Reduce(scope + "sum/", tensor, type, "sum");
}

Shards LayoutConversions::Convert(const std::string& scope, const Shards& tensor, const TensorInfo& whole,
                                  const Layout& from, const Layout& to) {
  if (from == to) return tensor;
  if (from.whole()) return Cut(scope, tensor, whole.shape, to);
  if (from.terms() && to.whole()) return Sum(scope, tensor, whole.dtype);
  const DataType carried = CarriedAs(whole.dtype);
  const Shards sent = Cast(scope, "carried", tensor, whole.dtype, carried);
  if (from.terms())
    return Cast(scope, "back", ScatterSum(scope, sent, whole.shape, to), carried, whole.dtype);
  const Shards all = Cast(scope, "back", Gather(scope, sent, whole.shape, from), carried, whole.dtype);
  return to.whole() ? all : Cut(scope + "cut/", all, whole.shape, to);
}

}  // namespace lanescope
