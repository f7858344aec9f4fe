// SPDX-License-Identifier: Apache-2.0
// Distinct values and slices in order of first occurrence, and the coordinates of true elements.
#include <bit>
#include <cmath>
#include <unordered_set>

#include "exec/kernels/hash.h"
#include "exec/kernels/partition_plan.h"
#include "exec/kernels/sparse_kernels.h"

namespace lanescope::exec {
namespace {

// Open addressing over the numbers of the distinct items found so far; where the items themselves lie, the
// caller knows. Kept between launches, so that a step allocates nothing.
class DistinctNumbers {
 public:
  // A table of at least twice as many slots as items.
  void Reset(int64_t items) {
    const size_t slots = std::bit_ceil(static_cast<size_t>(items) * 2 + 16);
    mask_ = slots - 1;
    numbers_.assign(slots, -1);
  }

  // The number of an item: that of an old one for which equals(number) is true, or else `next`, which is then
  // kept.
  template <typename Equals>
  int32_t NumberOf(uint64_t hash, int32_t next, Equals equals) {
    size_t slot = hash & mask_;
    while (numbers_[slot] >= 0) {
      if (equals(numbers_[slot])) return numbers_[slot];
      slot = (slot + 1) & mask_;
    }
    return numbers_[slot] = next;
  }

 private:
  std::vector<int32_t> numbers_;
  size_t mask_ = 0;
};

template <typename Fn>
void DispatchKey(std::string_view op, DataType dtype, Fn&& fn) {
  if (dtype == DataType::kString) return fn(std::string{});
  if (dtype == DataType::kBool) return fn(bool{});
  if (dtype == DataType::kUint8) return fn(uint8_t{});
  DispatchNumber(op, dtype, fn);
}

// The slices of a tensor across one axis.
template <typename T>
class Slices {
 public:
  Slices(const TensorRef& x, int axis)
      : data_(x.as<T>()),
        outer_(SizeOfDims(x.shape, 0, axis)),
        count_(x.shape[axis]),
        inner_(SizeOfDims(x.shape, axis + 1, x.shape.rank())) {}

  uint64_t Hash(int64_t slice) const {
    uint64_t hash = 0;
    for (int64_t o = 0; o < outer_; ++o) {
      for (int64_t i = 0; i < inner_; ++i)
        hash = FoldedProduct(hash ^ HashOf(Row(o, slice)[i]), 0xD6E8FEB86659FD93u);
    }
    return hash;
  }
  bool AreEqual(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer_; ++o) {
      if (!std::equal(Row(o, a), Row(o, a) + inner_, Row(o, b))) return false;
    }
    return true;
  }
  // Writes the given slices one after another along the axis.
  void Gather(const std::vector<int64_t>& slices, T* out) const {
    for (int64_t o = 0; o < outer_; ++o) {
      for (const int64_t slice : slices) out = std::copy_n(Row(o, slice), inner_, out);
    }
  }

 private:
  const T* Row(int64_t outer, int64_t slice) const { return data_ + (outer * count_ + slice) * inner_; }

  const T* data_;
  int64_t outer_, count_, inner_;
};

// Outputs: distinct values (slices), for each element (slice) its value's number, and (UniqueWithCounts) how
// often each occurs. The V2 forms take the axis along which slices are compared.
class UniqueKernel : public Kernel {
 public:
  explicit UniqueKernel(const Node& node) : counted_(node.op.starts_with("UniqueWithCounts")) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int axis = PlanUnique(context);
    const int64_t items = x.shape[axis];
    if (items > std::numeric_limits<int32_t>::max() / 4) {
      Throw(Code::kInvalidArgument, "unique does not support input tensors larger than 2^29 elements");
    }
    numbers_.Reset(items);
    const int32_t count = x.shape.rank() == 1 ? NumberValues(context) : NumberSlices(context, axis);
    if (counted_) CountOccurrences(context, items, count);
  }

 private:
  int32_t NumberValues(KernelContext& context) {
    const TensorRef& x = context.input(0);
    const int64_t size = x.shape[0];
    int32_t count = 0;
    DispatchKey("Unique", x.dtype, [&](auto tag) {
      using T = decltype(tag);
      // Written before its shape is known: it has room for as many values as there are elements.
      T* distinct = Room<T>(context, size);
      DispatchIndex("Unique", context.output(1).dtype, [&](auto index) {
        auto* out = context.output(1).as<decltype(index)>();
        const T* values = x.as<T>();
        for (int64_t i = 0; i < size; ++i) {
          const int32_t number = numbers_.NumberOf(HashOf(values[i]), count,
                                                   [&](int32_t old) { return distinct[old] == values[i]; });
          if (number == count) distinct[count++] = values[i];
          out[i] = number;
        }
      });
    });
    context.SetOutputShape(0, Shape{count});
    return count;
  }

  int32_t NumberSlices(KernelContext& context, int axis) {
    const TensorRef& x = context.input(0);
    Shape result = x.shape;
    firsts_.clear();
    DispatchKey("UniqueV2", x.dtype, [&](auto tag) {
      const Slices<decltype(tag)> slices(x, axis);
      DispatchIndex("UniqueV2", context.output(1).dtype, [&](auto index) {
        auto* out = context.output(1).as<decltype(index)>();
        for (int64_t k = 0; k < x.shape[axis]; ++k) {
          const auto next = static_cast<int32_t>(firsts_.size());
          const int32_t number = numbers_.NumberOf(slices.Hash(k), next, [&](int32_t old) {
            return slices.AreEqual(firsts_[static_cast<size_t>(old)], k);
          });
          if (number == next) firsts_.push_back(k);
          out[k] = number;
        }
      });
      result.set_dim(axis, static_cast<int64_t>(firsts_.size()));
      context.SetOutputShape(0, result);
      slices.Gather(firsts_, context.output(0).as<decltype(tag)>());
    });
    return static_cast<int32_t>(firsts_.size());
  }

  template <typename T>
  static T* Room(KernelContext& context, int64_t size) {
    if (size > 0) context.SetOutputShape(0, Shape{size});
    return context.output(0).as<T>();
  }

  static void CountOccurrences(KernelContext& context, int64_t size, int32_t count) {
    context.SetOutputShape(2, Shape{count});
    DispatchIndex("UniqueWithCounts", context.output(2).dtype, [&](auto index) {
      using Index = decltype(index);
      Index* counts = context.output(2).as<Index>();
      const Index* numbers = context.output(1).as<Index>();
      std::fill_n(counts, count, Index{0});
      for (int64_t i = 0; i < size; ++i) ++counts[numbers[i]];
    });
  }

  bool counted_;
  DistinctNumbers numbers_;
  std::vector<int64_t> firsts_;  // of slices: by number, the first of its kind
};

// x, y: the values of x that y lacks, and where they stood.
void ComputeListDiff(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const TensorRef& y = context.input(1);
  if (x.shape.rank() != 1) Throw(Code::kInvalidArgument, "x should be a 1D vector.");
  if (y.shape.rank() != 1) Throw(Code::kInvalidArgument, "y should be a 1D vector.");
  DispatchKey("ListDiff", x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const std::unordered_set<T> taken(y.as<T>(), y.as<T>() + y.shape[0]);
    std::vector<int64_t> places;
    for (int64_t i = 0; i < x.shape[0]; ++i) {
      if (!taken.contains(x.as<T>()[i])) places.push_back(i);
    }
    ShapeOutput(context, 0, Shape{static_cast<int64_t>(places.size())});
    for (size_t i = 0; i < places.size(); ++i) context.output(0).as<T>()[i] = x.as<T>()[places[i]];
    WriteInts(context, 1, places);
  });
}

// Coordinates [n, rank] (int64) of the elements that are not zero.
void ComputeWhere(KernelContext& context, const TensorRef& x) {
  const int rank = x.shape.rank();
  const int64_t size = x.NumElements();
  DispatchKey("Where", x.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, std::string>) {
      ThrowUnsupportedType("Where", x.dtype);
    } else {
      const T* values = x.as<T>();
      int64_t count = 0;
      for (int64_t i = 0; i < size; ++i) count += values[i] != T{};
      ShapeOutput(context, 0, Shape{count, rank});
      int64_t* out = context.output().as<int64_t>();
      for (int64_t i = 0; i < size; ++i) {
        if (values[i] == T{}) continue;
        int64_t rest = i;
        for (int d = rank - 1; d >= 0; --d) {
          out[d] = rest % x.shape[d];
          rest /= x.shape[d];
        }
        out += rank;
      }
    }
  });
}

}  // namespace

void RegisterUniqueKernels(KernelRegistry& registry) {
  registry.Register("Unique", MakeKernel<UniqueKernel>);
  registry.Register("UniqueWithCounts", MakeKernel<UniqueKernel>);
  registry.Register("UniqueV2", MakeKernel<UniqueKernel>);
  registry.Register("UniqueWithCountsV2", MakeKernel<UniqueKernel>);
  registry.Register("ListDiff", MakeFunctionKernel<ComputeListDiff>);
  RegisterOp<PlanWhere, ComputeWhere>(registry, "Where");
}

}  // namespace lanescope::exec
