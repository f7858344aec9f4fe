// Identities, constants, new shapes, fills, and rows by index.
#include <cmath>
#include <cstring>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/sparse.h"
#include "exec/kernels/array_kernels.h"
#include "exec/kernels/matrix_band.h"

namespace lanescope::exec::cuda {
namespace {

// Input `input` under another shape of as many elements.
void CopyAs(KernelContext& context, int input, int output, const Shape& shape) {
  const TensorRef& x = context.input(input);
  ShapeOutput(context, output, shape);
  CopyBytes(LaunchOf(context), context.output(output).data, x.data, x.NumElements() * ElementBytes(x.dtype));
}

void IdentityN(KernelContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) CopyAs(context, i, i, context.input(i).shape);
}

void Nothing(KernelContext&) {}

// The value travels through pinned memory.
class ConstKernel final : public Kernel {
 public:
  explicit ConstKernel(const Node& node) : value_(node.GetTensorAttr("value")) {}
  void Compute(KernelContext& context) override {
    ShapeOutput(context, 0, value_.shape());
    const int64_t bytes = value_.ByteSize();
    if (bytes == 0) return;
    void* staging = StagingOf(context, bytes);
    std::memcpy(staging, value_.raw_data(), static_cast<size_t>(bytes));
    CopyFromHost(LaunchOf(context), context.output().data, staging, bytes);
  }

 private:
  Tensor value_;
};

class CheckNumericsKernel final : public UnrecordedKernel {
 public:
  explicit CheckNumericsKernel(const Node& node) : message_(node.StringAttr("message", "")) {}
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    auto* staging = static_cast<int32_t*>(StagingOf(context, sizeof(int32_t)));
    const int found = CheckFinite(LaunchOf(context), staging, LoopTypeFor("CheckNumerics", x.dtype),
                                  x.NumElements(), x.data);
    if (found != 0) {
      Throw(Code::kInvalidArgument, "{} : Tensor had {} values", message_,
            found == 3   ? "Inf and NaN"
            : found == 1 ? "NaN"
                         : "Inf");
    }
    CopyAs(context, 0, 0, x.shape);
  }

 private:
  std::string message_;
};

// Reshape, ExpandDims and Squeeze: their inference has found the output's shape, or it follows from numbers
// in host memory.
void Reshape(KernelContext& context) {
  const int64_t count = context.input(0).NumElements();
  std::vector<int64_t> dims = ReadInts(context.input(1));
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& dim : dims) {
    if (dim < -1 || (dim == -1 && open != nullptr)) {
      Throw(Code::kInvalidArgument, "a requested shape may hold one -1 and no other negative size");
    }
    if (dim == -1) {
      open = &dim;
    } else {
      known = MulDims(known, dim);
    }
  }
  if (open != nullptr) *open = known == 0 ? 0 : count / known;
  if (open != nullptr) known *= *open;
  if (known != count) {
    Throw(Code::kInvalidArgument,
          "Input to reshape is a tensor with {} values, but the requested shape does not hold as many",
          count);
  }
  CopyAs(context, 0, 0, Shape(std::span<const Dim>(dims)));
}

void ExpandDims(KernelContext& context) {
  Shape shape = context.input(0).shape;
  shape.Insert(NormalizeAxis(ReadInt(context.input(1), "the axis of ExpandDims"), shape.rank() + 1), 1);
  CopyAs(context, 0, 0, shape);
}

class SqueezeKernel final : public Kernel {
 public:
  explicit SqueezeKernel(const Node& node) {
    for (const char* attr : {"squeeze_dims", "axis"}) {
      if (node.FindAttr(attr) != nullptr) axes_ = node.IntListAttr(attr);
    }
  }
  void Compute(KernelContext& context) override {
    const Shape& x = context.input(0).shape;
    std::vector<bool> chosen(static_cast<size_t>(x.rank()), axes_.empty());
    for (const int64_t axis : axes_) chosen[static_cast<size_t>(NormalizeAxis(axis, x.rank()))] = true;
    Shape shape;
    for (int d = 0; d < x.rank(); ++d) {
      const bool squeezed = chosen[static_cast<size_t>(d)] && (x[d] == 1 || !axes_.empty());
      if (squeezed && x[d] != 1) {
        Throw(Code::kInvalidArgument, "Can not squeeze dim[{}], expected a dimension of 1, got {}", d, x[d]);
      }
      if (!squeezed) shape.Append(x[d]);
    }
    CopyAs(context, 0, 0, shape);
  }

 private:
  std::vector<int64_t> axes_;
};

void FillOp(KernelContext& context) {
  const TensorRef& value = context.input(1);
  RequireScalar("value", value);
  ShapeOutput(context, 0, ReadShape(context.input(0)));
  const TensorRef& out = context.output();
  RunFill(LaunchOf(context), ElementBytes(out.dtype), out.NumElements(), out.data, value.data);
}

void ZerosLike(KernelContext& context) {
  ShapeOutput(context, 0, context.input(0).shape);
  const TensorRef& out = context.output();
  ZeroBytes(LaunchOf(context), out.data, out.NumElements() * ElementBytes(out.dtype));
}

void OnesLike(KernelContext& context) {
  ShapeOutput(context, 0, context.input(0).shape);
  const TensorRef& out = context.output();
  const auto fill = [&](auto one) {
    RunFillFromHost(LaunchOf(context), static_cast<int64_t>(sizeof one), out.NumElements(), out.data, &one);
  };
  if (out.dtype == DataType::kBool) return fill(true);
  if (out.dtype == DataType::kUint8) return fill(uint8_t{1});
  DispatchNumber("OnesLike on a GPU", out.dtype, [&](auto tag) { fill(static_cast<decltype(tag)>(1)); });
}

// int32 results of these live in host memory.
template <void (*compute)(KernelContext&)>
std::unique_ptr<Kernel> MakeUnlessInt32(const Node& node) {
  if (node.TypeAttr("T") == DataType::kInt32) return MakeHostKernel(node);
  return MakeFunctionKernel<compute>(node);
}

// Start, limit and delta are in host memory. Elements are start + i * delta, not a running sum as on the
// host: float ranges may differ in the last place.
void Range(KernelContext& context) {
  DispatchNumber("Range on a GPU", context.input(0).dtype, [&]<typename T>(T) {
    for (int i = 0; i < 3; ++i) RequireScalar("start, limit and delta", context.input(i));
    const T start = *context.input(0).as<T>();
    const T limit = *context.input(1).as<T>();
    const T delta = *context.input(2).as<T>();
    if (delta == 0 || (delta > 0 ? start > limit : start < limit)) {
      Throw(Code::kInvalidArgument, "a range from {} cannot reach {} in steps of {}", start, limit, delta);
    }
    double size = 0;
    if constexpr (std::is_integral_v<T>) {
      const auto distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                      : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
      const auto step = delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
      size = static_cast<double>(distance / step + (distance % step != 0 ? 1 : 0));
    } else {
      size = std::ceil(
          std::abs((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta)));
    }
    if (!(size <= static_cast<double>(int64_t{1} << 40))) {
      Throw(Code::kInvalidArgument, "Requires ((limit - start) / delta) to be at most 2^40");
    }
    ShapeOutput(context, 0, Shape{static_cast<int64_t>(size)});
    RunRange<T>(LaunchOf(context), static_cast<int64_t>(size), start, delta, context.output().as<T>());
  });
}

class OneHotKernel final : public Kernel {
 public:
  explicit OneHotKernel(const Node& node) : axis_(node.IntAttr("axis", -1)) {}
  void Compute(KernelContext& context) override {
    const TensorRef& indices = context.input(0);
    const int64_t depth = ReadInt(context.input(1), "depth");
    const int rank = indices.shape.rank();
    if (depth < 0 || axis_ < -1 || axis_ > rank) {
      Throw(Code::kInvalidArgument, "depth must be non-negative and axis in [-1, {}], got {} and {}", rank,
            depth, axis_);
    }
    const int axis = axis_ == -1 ? rank : static_cast<int>(axis_);
    Shape shape = indices.shape;
    shape.Insert(axis, depth);
    ShapeOutput(context, 0, shape);
    const TensorRef& out = context.output();
    const IndexReader reader =
        indices.dtype == DataType::kUint8 ? IndexReader{indices.data, 1} : ReaderOf("OneHot", indices);
    RunOneHot(LaunchOf(context), ElementBytes(out.dtype), SizeOfDims(indices.shape, 0, axis), depth,
              SizeOfDims(indices.shape, axis, rank), reader, context.input(2).data, context.input(3).data,
              out.data);
  }

 private:
  int64_t axis_;
};

void Diag(KernelContext& context) {
  const TensorRef& x = context.input(0);
  Shape shape = x.shape;
  for (int d = 0; d < x.shape.rank(); ++d) shape.Append(x.shape[d]);
  ShapeOutput(context, 0, shape);
  RunDiag(LaunchOf(context), ElementBytes(x.dtype), x.NumElements(), context.output().data, x.data);
}

void DiagPart(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int half = x.shape.rank() / 2;
  Shape shape;
  for (int d = 0; d < half; ++d) {
    if (x.shape.rank() != 2 * half || x.shape[d] != x.shape[half + d]) {
      Throw(Code::kInvalidArgument, "Invalid shape {}: dimensions {} and {} do not match.",
            x.shape.ToString(), d, half + d);
    }
    shape.Append(x.shape[d]);
  }
  ShapeOutput(context, 0, shape);
  RunDiagPart(LaunchOf(context), ElementBytes(x.dtype), shape.NumElements(), context.output().data, x.data);
}

// The same bytes as elements of another type.
void Bitcast(KernelContext& context) {
  const TensorRef& x = context.input(0);
  ShapeOutput(context, 0, BitcastShape(x.shape, x.dtype, context.output().dtype));
  CopyBytes(LaunchOf(context), context.output().data, x.data, x.NumElements() * ElementBytes(x.dtype));
}

void MatrixBandPart(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const MatrixBand band = ReadMatrixBand(context);
  ShapeOutput(context, 0, x.shape);
  RunBand(LaunchOf(context), ElementBytes(x.dtype), x.NumElements(), band.rows, band.columns, band.lower,
          band.upper, context.output().data, x.data);
}

// Rows of an index out of range are zeros, as in TensorFlow on a GPU.
void GatherRows(KernelContext& context, const TensorRef& params, const TensorRef& indices, int axis,
                int64_t requested_batch) {
  const int index_rank = indices.shape.rank();
  const auto batch = static_cast<int>(requested_batch < 0 ? requested_batch + index_rank : requested_batch);
  bool fits = batch >= 0 && batch <= index_rank && batch <= axis && axis < params.shape.rank();
  for (int d = 0; fits && d < batch; ++d) fits = params.shape[d] == indices.shape[d];
  if (!fits) {
    Throw(Code::kInvalidArgument, "batch_dims {} does not fit params {} and indices {} with axis {}",
          requested_batch, params.shape.ToString(), indices.shape.ToString(), axis);
  }
  Shape shape;
  for (int d = 0; d < axis; ++d) shape.Append(params.shape[d]);
  for (int d = batch; d < index_rank; ++d) shape.Append(indices.shape[d]);
  for (int d = axis + 1; d < params.shape.rank(); ++d) shape.Append(params.shape[d]);
  ShapeOutput(context, 0, shape);
  RunGather(LaunchOf(context), ElementBytes(params.dtype), SizeOfDims(params.shape, 0, batch),
            SizeOfDims(params.shape, batch, axis), params.shape[axis],
            SizeOfDims(params.shape, axis + 1, params.shape.rank()),
            SizeOfDims(indices.shape, batch, index_rank), ReaderOf("Gather", indices), params.data,
            context.output().data);
}

class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(const Node& node) : batch_dims_(node.IntAttr("batch_dims", 0)) {}
  void Compute(KernelContext& context) override {
    const TensorRef& params = context.input(0);
    if (params.shape.rank() < 1) Throw(Code::kInvalidArgument, "params must be at least 1 dimensional");
    const int axis =
        context.num_inputs() == 3 ? NormalizeAxis(ReadInt(context.input(2), "axis"), params.shape.rank()) : 0;
    GatherRows(context, params, context.input(1), axis, batch_dims_);
  }

 private:
  int64_t batch_dims_;
};

class ResourceGatherKernel final : public Kernel {
 public:
  explicit ResourceGatherKernel(const Node& node) : batch_dims_(node.IntAttr("batch_dims", 0)) {}
  void Compute(KernelContext& context) override {
    GatherRows(context, context.variable(0).tensor, context.input(1), static_cast<int>(batch_dims_),
               batch_dims_);
  }

 private:
  int64_t batch_dims_;
};

void GatherNd(KernelContext& context) {
  const TensorRef& params = context.input(0);
  const TensorRef& indices = context.input(1);
  const CoordinatesOf at = ResolveCoordinates("indices", indices.shape, params.shape);
  ShapeOutput(context, 0, at.result_shape);
  RunGatherNd(LaunchOf(context), ElementBytes(params.dtype), at.map, at.rows, at.row_elements,
              ReaderOf("GatherNd", indices), params.data, context.output().data);
}

}  // namespace

void RegisterArrayOps(KernelRegistry& registry) {
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient", "PlaceholderWithDefault",
                         "RefIdentity", "DebugGradientIdentity", "IdentityN"}) {
    registry.Register(op, MakeFunctionKernel<IdentityN>);
  }
  for (const char* op : {"NoOp", "ControlTrigger"}) registry.Register(op, MakeFunctionKernel<Nothing>);
  // These touch no element in device memory.
  for (const char* op : {"Placeholder", "PlaceholderV2", "Assert", "Shape", "ShapeN", "Size", "Rank",
                         "VariableShape", "BroadcastArgs", "BroadcastGradientArgs", "ConcatOffset",
                         "InvertPermutation", "LinSpace", "ParallelDynamicStitch"}) {
    registry.Register(op, MakeHostKernel);
  }
  registry.Register("Const", MakeKernel<ConstKernel>);
  registry.Register("CheckNumerics", MakeKernel<CheckNumericsKernel>);
  registry.Register("Reshape", MakeFunctionKernel<Reshape>);
  registry.Register("ExpandDims", MakeFunctionKernel<ExpandDims>);
  registry.Register("Squeeze", MakeKernel<SqueezeKernel>);
  registry.Register("Fill", MakeFunctionKernel<FillOp>);
  registry.Register("ZerosLike", MakeUnlessInt32<ZerosLike>);
  registry.Register("OnesLike", MakeUnlessInt32<OnesLike>);
  registry.Register("Range", MakeFunctionKernel<Range>);
  registry.Register("OneHot", MakeKernel<OneHotKernel>);
  registry.Register("Diag", MakeFunctionKernel<Diag>);
  registry.Register("DiagPart", MakeFunctionKernel<DiagPart>);
  registry.Register("Bitcast", MakeFunctionKernel<Bitcast>);
  registry.Register("MatrixBandPart", MakeFunctionKernel<MatrixBandPart>);
  registry.Register("Gather", MakeKernel<GatherKernel>);
  registry.Register("GatherV2", MakeKernel<GatherKernel>);
  registry.Register("ResourceGather", MakeKernel<ResourceGatherKernel>);
  registry.Register("GatherNd", MakeFunctionKernel<GatherNd>);
}

}  // namespace lanescope::exec::cuda
