#include <algorithm>
#include <optional>
#include <vector>

#include "exec/kernels/linear.h"
#include "exec/kernels/patches.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Filters are [height, width, channels, filters], images [batch, height, width, channels].
void CheckRank4(const Shape& shape, std::string_view what) {
  if (shape.rank() != 4) {
    Throw(Code::kInvalidArgument, "{} must be 4-dimensional, not {}", what, shape.ToString());
  }
}

PatchGeometry Geometry(const WindowAttrs& attrs, const Shape& images, const Shape& filter) {
  CheckRank4(images, "input");
  CheckRank4(filter, "filter");
  if (filter[2] != images[3]) {
    const bool grouped = filter[2] > 0 && images[3] % filter[2] == 0;
    Throw(grouped ? Code::kUnimplemented : Code::kInvalidArgument,
          "input depth {} and filter depth {} differ{}", images[3], filter[2],
          grouped ? "; grouped convolution has no host kernel" : "");
  }
  PatchGeometry geometry;
  geometry.batch = images[0];
  geometry.channels = images[3];
  geometry.rows = attrs.Resolve(1, images[1], filter[0]);
  geometry.columns = attrs.Resolve(2, images[2], filter[1]);
  return geometry;
}

Shape OutputShape(const PatchGeometry& geometry, int64_t filters) {
  return Shape{geometry.batch, geometry.rows.out, geometry.columns.out, filters};
}

void CheckGradient(const PatchGeometry& geometry, int64_t filters, const Shape& gradient) {
  const Shape expected = OutputShape(geometry, filters);
  if (gradient == expected) return;
  Throw(Code::kInvalidArgument, "out_backprop has shape {}, but the convolution's output has {}",
        gradient.ToString(), expected.ToString());
}

int64_t PanelElements(int64_t k, int64_t n, int64_t panel) { return k * ((n + panel - 1) / panel * panel); }

// result[image, row, column, :] = patch * filter for every position.
template <typename T>
void Convolve(WorkerTeam& team, const PatchGeometry& geometry, const T* images, const T* filter,
              int64_t filters, std::vector<T>& panels, T* result) {
  const ConvLoops<T>& loops = HostLoops().conv<T>();
  panels.resize(static_cast<size_t>(PanelElements(geometry.patch_elements(), filters, loops.panel)));
  loops.pack(geometry.patch_elements(), filters, filter, panels.data());
  const PatchSource<T> source(geometry, images);
  const int64_t out_row = geometry.columns.out * filters;
  team.ParallelFor(source.num_blocks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const auto block = source.block(index);
      const T* patches = source.Patches(block);
      T* out = result + (block.image * geometry.rows.out + block.first_row) * out_row;
      for (int64_t row = 0; row < block.rows; ++row) {
        loops.forward(source.runs(), geometry.columns.out, patches + row * source.row_step(), panels.data(),
                      filters, out + row * out_row, filters);
      }
    }
  });
}

class Conv2DKernel final : public Kernel {
 public:
  explicit Conv2DKernel(const Node& node) : attrs_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& images = context.input(0);
    const TensorRef& filter = context.input(1);
    const PatchGeometry geometry = Geometry(attrs_, images.shape, filter.shape);
    const int64_t filters = filter.shape[3];
    context.SetOutputShape(0, OutputShape(geometry, filters));
    if (context.output().NumElements() == 0) return;
    DispatchReal("Conv2D", images.dtype, [&]<typename T>(T) {
      Convolve<T>(context.team(), geometry, images.as<T>(), filter.as<T>(), filters, Panels<T>(),
                  context.output().as<T>());
    });
  }

 private:
  template <typename T>
  std::vector<T>& Panels() {
    if constexpr (std::is_same_v<T, float>) {
      return float_panels_;
    } else {
      return double_panels_;
    }
  }

  WindowAttrs attrs_;
  std::vector<float> float_panels_;
  std::vector<double> double_panels_;
};

// The gradient by the images is itself a convolution: of the output's gradient, seen with its strides filled
// by zeros, with the filter turned by 180 degrees and its channels and filters exchanged.
class Conv2DBackpropInputKernel final : public Kernel {
 public:
  explicit Conv2DBackpropInputKernel(const Node& node) : attrs_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& filter = context.input(1);
    const TensorRef& gradient = context.input(2);
    CheckRank4(filter.shape, "filter");
    CheckRank4(gradient.shape, "out_backprop");
    const Shape images = ImagesShape(context.input(0), filter.shape, gradient.shape);
    const PatchGeometry geometry = Geometry(attrs_, images, filter.shape);
    CheckGradient(geometry, filter.shape[3], gradient.shape);
    context.SetOutputShape(0, images);
    if (images.NumElements() == 0) return;
    DispatchReal("Conv2DBackpropInput", gradient.dtype, [&]<typename T>(T) {
      if (gradient.NumElements() == 0) {
        std::fill_n(context.output().as<T>(), images.NumElements(), T(0));
        return;
      }
      const std::vector<T> turned = TurnedFilter<T>(filter);
      std::vector<T> panels;
      Convolve<T>(context.team(), Turned(geometry, filter.shape[3]), gradient.as<T>(), turned.data(),
                  images[3], panels, context.output().as<T>());
    });
  }

 private:
  // input_sizes: four dimensions, or height and width.
  static Shape ImagesShape(const TensorRef& sizes, const Shape& filter, const Shape& gradient) {
    const std::vector<int64_t> values = ReadInts(sizes);
    if (values.size() != 4 && values.size() != 2) {
      Throw(Code::kInvalidArgument, "input_sizes must have 4 (or 2) values, not {}", values.size());
    }
    if (std::any_of(values.begin(), values.end(), [](int64_t v) { return v < 0; })) {
      Throw(Code::kInvalidArgument, "input_sizes must not be negative");
    }
    if (values.size() == 2) return Shape{gradient[0], values[0], values[1], filter[2]};
    return Shape{values[0], values[1], values[2], values[3]};
  }

  static WindowDim TurnedDim(const WindowDim& dim) {
    WindowDim turned;
    turned.in = dim.out;
    turned.out = dim.in;
    turned.size = dim.size;
    turned.dilation = dim.dilation;
    turned.before = dim.reach() - 1 - dim.before;
    return turned;
  }

  static PatchGeometry Turned(const PatchGeometry& forward, int64_t filters) {
    PatchGeometry turned;
    turned.batch = forward.batch;
    turned.channels = filters;
    turned.rows = TurnedDim(forward.rows);
    turned.columns = TurnedDim(forward.columns);
    turned.row_spread = forward.rows.stride;
    turned.column_spread = forward.columns.stride;
    return turned;
  }

  template <typename T>
  static std::vector<T> TurnedFilter(const TensorRef& filter) {
    const int64_t taps = filter.shape[0] * filter.shape[1];
    const int64_t channels = filter.shape[2];
    const int64_t filters = filter.shape[3];
    std::vector<T> turned(static_cast<size_t>(filter.NumElements()));
    for (int64_t tap = 0; tap < taps; ++tap) {
      const T* from = filter.as<T>() + (taps - 1 - tap) * channels * filters;
      T* to = turned.data() + tap * channels * filters;
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t f = 0; f < filters; ++f) to[f * channels + c] = from[c * filters + f];
      }
    }
    return turned;
  }

  WindowAttrs attrs_;
};

// The gradient by the filter: sums over all positions of all images, in a fixed number of partial sums.
class Conv2DBackpropFilterKernel final : public Kernel {
 public:
  explicit Conv2DBackpropFilterKernel(const Node& node) : attrs_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& images = context.input(0);
    const TensorRef& gradient = context.input(2);
    const std::vector<int64_t> sizes = ReadInts(context.input(1));
    if (sizes.size() != 4 || std::any_of(sizes.begin(), sizes.end(), [](int64_t v) { return v < 0; })) {
      Throw(Code::kInvalidArgument, "filter_sizes must be 4 values >= 0");
    }
    const Shape filter{sizes[0], sizes[1], sizes[2], sizes[3]};
    const PatchGeometry geometry = Geometry(attrs_, images.shape, filter);
    CheckGradient(geometry, filter[3], gradient.shape);
    context.SetOutputShape(0, filter);
    if (filter.NumElements() == 0) return;
    DispatchReal("Conv2DBackpropFilter", images.dtype, [&]<typename T>(T) {
      Accumulate<T>(context.team(), geometry, images.as<T>(), gradient.as<T>(), filter[3],
                    context.output().as<T>());
    });
  }

 private:
  static constexpr int64_t kMaxParts = 16;
  static constexpr int64_t kPartsBytes = int64_t{32} << 20;  // of all partial sums together

  template <typename T>
  static void Accumulate(WorkerTeam& team, const PatchGeometry& geometry, const T* images, const T* gradient,
                         int64_t filters, T* result) {
    const ConvLoops<T>& loops = HostLoops().conv<T>();
    const int64_t k = geometry.patch_elements();
    const int64_t size = PanelElements(k, filters, loops.panel);
    const PatchSource<T> source(geometry, images);
    const int64_t affordable = kPartsBytes / (size * static_cast<int64_t>(sizeof(T)));
    const int64_t parts = std::clamp<int64_t>(std::min(affordable, source.num_blocks()), 1, kMaxParts);
    std::vector<T> sums(static_cast<size_t>(parts * size));
    const int64_t out_row = geometry.columns.out * filters;
    team.ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t last = source.num_blocks() * (part + 1) / parts;
        for (int64_t index = source.num_blocks() * part / parts; index < last; ++index) {
          const auto block = source.block(index);
          const T* dy = gradient + (block.image * geometry.rows.out + block.first_row) * out_row;
          loops.filter_grad(source.runs(), block.rows, source.row_step(), geometry.columns.out,
                            source.Patches(block), dy, filters, sums.data() + part * size);
        }
      }
    });
    for (int64_t part = 1; part < parts; ++part) {
      HostLoops().pool<T>().add(size, sums.data() + part * size, sums.data());
    }
    loops.unpack(k, filters, sums.data(), result);
  }

  WindowAttrs attrs_;
};

}  // namespace

void RegisterConvolutionKernels(KernelRegistry& registry) {
  registry.Register("Conv2D", MakeKernel<Conv2DKernel>);
  registry.Register("Conv2DBackpropInput", MakeKernel<Conv2DBackpropInputKernel>);
  registry.Register("Conv2DBackpropFilter", MakeKernel<Conv2DBackpropFilterKernel>);
}

}  // namespace lanescope::exec
