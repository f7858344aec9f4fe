// Distinct values in order of first occurrence, and the coordinates of true elements.
#include <bit>
#include <cmath>
#include <unordered_set>

#include "exec/kernels/hash.h"
#include "exec/kernels/sparse_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Open addressing over the numbers of the distinct values found so far; the values themselves lie in the
// output. Kept between launches, so that a step allocates nothing.
class DistinctNumbers {
 public:
  // A table of at least twice as many slots as values.
  void Reset(int64_t values) {
    const size_t slots = std::bit_ceil(static_cast<size_t>(values) * 2 + 16);
    mask_ = slots - 1;
    numbers_.assign(slots, -1);
  }

  // The number of `value`: an old one, or `count` (it is then stored as distinct[count], and count grows).
  template <typename T>
  int32_t NumberOf(const T& value, T* distinct, int32_t& count) {
    size_t slot = HashOf(value) & mask_;
    while (numbers_[slot] >= 0) {
      if (distinct[numbers_[slot]] == value) return numbers_[slot];
      slot = (slot + 1) & mask_;
    }
    numbers_[slot] = count;
    distinct[count] = value;
    return count++;
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

// Outputs: distinct values, for each element its value's number, and (UniqueWithCounts) how often each
// occurs.
class UniqueKernel : public Kernel {
 public:
  // The V2 forms take an axis too, which inference has found to be that of a vector.
  explicit UniqueKernel(const Node& node) : counted_(node.op.starts_with("UniqueWithCounts")) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    if (x.shape.rank() != 1) Throw(Code::kInvalidArgument, "unique expects a 1D vector.");
    const int64_t size = x.shape[0];
    if (size > std::numeric_limits<int32_t>::max() / 4) {
      Throw(Code::kInvalidArgument, "unique does not support input tensors larger than 2^29 elements");
    }
    ShapeOutput(context, 1, x.shape);
    numbers_.Reset(size);
    int32_t count = 0;
    DispatchKey("Unique", x.dtype, [&](auto tag) {
      using T = decltype(tag);
      // Written before its shape is known: it has room for as many values as there are elements.
      T* distinct = Room<T>(context, size);
      DispatchIndex("Unique", context.output(1).dtype, [&](auto index) {
        auto* out = context.output(1).as<decltype(index)>();
        const T* values = x.as<T>();
        for (int64_t i = 0; i < size; ++i) out[i] = numbers_.NumberOf(values[i], distinct, count);
      });
    });
    context.SetOutputShape(0, Shape{count});
    if (counted_) CountOccurrences(context, size, count);
  }

 private:
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
void ComputeWhere(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int rank = x.shape.rank();
  if (rank == 0) Throw(Code::kInvalidArgument, "WhereOp : Unhandled input dimensions: {}", rank);
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
  registry.Register("Where", MakeFunctionKernel<ComputeWhere>);
}

}  // namespace lanescope::exec
