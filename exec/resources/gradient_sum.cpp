// SPDX-License-Identifier: Apache-2.0
#include "exec/resources/gradient_sum.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

void CheckType(const std::string& name, const AccumulatorSpec& spec, const Tensor& gradient) {
  if (gradient.dtype() == spec.dtype) return;
  Throw(Code::kInvalidArgument, "accumulator '{}' takes gradients of {}, not of {}", name,
        DataTypeName(spec.dtype), DataTypeName(gradient.dtype()));
}

void CheckShape(const Shape& expected, const Shape& shape) {
  try {
    MergeShapes(expected, shape);
  } catch (const Error&) {
    Throw(Code::kInvalidArgument, "Shape mismatch: expected {}, got {}", expected.ToString(),
          shape.ToString());
  }
}

template <typename T>
class DenseSum final : public GradientSum {
 public:
  DenseSum(std::string name, AccumulatorSpec spec) : name_(std::move(name)), spec_(std::move(spec)) {}

  void Add(const GradientParts& gradient) override {
    const Tensor& more = gradient.at(0);
    CheckType(name_, spec_, more);
    CheckShape(count_ > 0 ? sum_.shape() : spec_.shape, more.shape());
    if (count_++ == 0) {
      sum_ = more;
      return;
    }
    T* to = sum_.data<T>();
    const T* from = more.data<T>();
    for (int64_t i = 0; i < sum_.NumElements(); ++i) to[i] += from[i];
  }

  GradientParts Take() override {
    GradientParts taken;
    taken.push_back(std::exchange(sum_, Tensor()));
    const int64_t count = std::exchange(count_, 0);
    if (spec_.reduction == GradientReduction::kSum) return taken;
    T* to = taken[0].data<T>();
    for (int64_t i = 0; i < taken[0].NumElements(); ++i) to[i] /= static_cast<T>(count);
    return taken;
  }

 private:
  const std::string name_;
  const AccumulatorSpec spec_;
  Tensor sum_;  // with count_ > 0
  int64_t count_ = 0;
};

template <typename T>
class RowSum final : public GradientSum {
 public:
  RowSum(std::string name, AccumulatorSpec spec) : name_(std::move(name)), spec_(std::move(spec)) {}

  void Add(const GradientParts& gradient) override {
    const Tensor& numbers = gradient.at(0);
    const Tensor& values = gradient.at(1);
    CheckType(name_, spec_, values);
    CheckRows(numbers, values);
    CheckWhole(gradient.at(2));
    if (count_ == 0) {
      row_shape_ = values.shape();
      row_shape_.Erase(0);
    }
    const int64_t size = row_shape_.NumElements();
    for (int64_t i = 0; i < numbers.NumElements(); ++i) {
      Row& row = rows_[numbers.IntAt(i)];
      row.sum.resize(static_cast<size_t>(size));
      const T* from = values.data<T>() + i * size;
      for (size_t k = 0; k < row.sum.size(); ++k) row.sum[k] += from[k];
      if (std::exchange(row.last, count_) != count_) ++row.count;
    }
    ++count_;
  }

  GradientParts Take() override {
    const std::map<int64_t, Row> rows = std::exchange(rows_, {});
    Shape shape = std::exchange(row_shape_, Shape());
    count_ = 0;
    const auto count = static_cast<Dim>(rows.size());
    shape.Insert(0, count);
    Tensor numbers(DataType::kInt64, Shape{count}), values(spec_.dtype, shape),
        whole(DataType::kInt64, Shape{shape.rank()});
    auto* number = numbers.data<int64_t>();
    T* to = values.data<T>();
    for (const auto& [index, row] : rows) {
      *number++ = index;
      const auto share = static_cast<T>(spec_.reduction == GradientReduction::kSum ? 1 : row.count);
      for (const T element : row.sum) *to++ = element / share;
    }
    // How many rows the whole has is what was declared.
    const bool is_known = spec_.shape.known_rank() && spec_.shape.rank() > 0 && IsExact(spec_.shape[0]);
    for (int i = 0; i < shape.rank(); ++i) whole.data<int64_t>()[i] = shape[i];
    whole.data<int64_t>()[0] = is_known ? spec_.shape[0] : -1;
    GradientParts taken;
    taken.push_back(std::move(numbers));
    taken.push_back(std::move(values));
    taken.push_back(std::move(whole));
    return taken;
  }

 private:
  struct Row {
    std::vector<T> sum;
    int64_t count = 0;  // of gradients that have it
    int64_t last = -1;  // of these
  };

  void CheckRows(const Tensor& numbers, const Tensor& values) const {
    if (numbers.shape().rank() != 1 || numbers.dtype() != DataType::kInt64)
      Throw(Code::kInvalidArgument,
            "accumulator '{}' takes the numbers of rows as an int64 vector, not as {}", name_,
            numbers.shape().ToString());
    if (values.shape().rank() < 1 || values.shape()[0] != numbers.shape()[0]) {
      Throw(Code::kInvalidArgument, "Shape mismatch: {} numbers of rows, but values of {}",
            numbers.NumElements(), values.shape().ToString());
    }
    Shape expected = spec_.shape;
    if (count_ > 0) {
      expected = row_shape_;
      expected.Insert(0, kUnknownDim);
    } else if (expected.known_rank() && expected.rank() > 0) {
      expected.set_dim(0, kUnknownDim);
    }
    CheckShape(expected, values.shape());
    const bool is_known = spec_.shape.known_rank() && spec_.shape.rank() > 0 && IsExact(spec_.shape[0]);
    for (int64_t i = 0; i < numbers.NumElements(); ++i) {
      const int64_t index = numbers.IntAt(i);
      if (index >= 0 && (!is_known || index < spec_.shape[0])) continue;
      Throw(Code::kInvalidArgument,
            "Shape mismatch: index of slice {} exceeded limits of shape; index is {} exceeded {}", i, index,
            is_known ? std::to_string(spec_.shape[0]) : "0");
    }
  }

  void CheckWhole(const Tensor& whole) const {
    if (whole.NumElements() == 0 || !spec_.shape.known_rank()) return;
    if (whole.NumElements() < spec_.shape.rank()) {
      Throw(Code::kInvalidArgument, "Shape mismatch: expected shape rank at least {}, got {}",
            spec_.shape.rank(), whole.NumElements());
    }
    for (int i = 0; i < spec_.shape.rank(); ++i) {
      if (!IsExact(spec_.shape[i]) || spec_.shape[i] == whole.IntAt(i)) continue;
      Throw(Code::kInvalidArgument, "Shape mismatch: expected shape dim {} to be {}, got {}", i,
            spec_.shape[i], whole.IntAt(i));
    }
  }

  const std::string name_;
  const AccumulatorSpec spec_;
  int64_t count_ = 0;  // of gradients
  Shape row_shape_;    // with count_ > 0
  std::map<int64_t, Row> rows_;
};

template <typename T>
std::unique_ptr<GradientSum> SumOf(const std::string& name, const AccumulatorSpec& spec) {
  if (spec.rows) return std::make_unique<RowSum<T>>(name, spec);
  return std::make_unique<DenseSum<T>>(name, spec);
}

}  // namespace

std::unique_ptr<GradientSum> MakeGradientSum(const std::string& name, const AccumulatorSpec& spec) {
  if (spec.dtype == DataType::kFloat) return SumOf<float>(name, spec);
  if (spec.dtype == DataType::kDouble) return SumOf<double>(name, spec);
  Throw(Code::kUnimplemented, "accumulator '{}' is of {}; float and double are added up here", name,
        DataTypeName(spec.dtype));
}

}  // namespace lanescope::exec
