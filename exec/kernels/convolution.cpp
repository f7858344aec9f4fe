#include "exec/kernels/convolution.h"

#include <algorithm>

#include "exec/kernels/linear.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kConvolutionTasks = 16;

struct ConvolvedPositions;
struct ForwardPanels;

class Conv2DKernel final : public Kernel {
 public:
  explicit Conv2DKernel(const Node& node) : attrs_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& images = context.input(0);
    const TensorRef& filter = context.input(1);
    const PatchGeometry geometry = ConvolutionGeometry(attrs_, images.shape, filter.shape);
    const int64_t filters = filter.shape[3];
    context.SetOutputShape(0, ConvolutionShape(geometry, filters));
    if (context.output().NumElements() == 0) return;
    DispatchReal("Conv2D", images.dtype, [&]<typename T>(T) {
      const ConvLoops<T>& loops = HostLoops().conv<T>();
      const int64_t k = geometry.patch_elements();
      T* panels = ThreadScratch<ForwardPanels, T>(PanelElements(k, filters, loops.panel));
      loops.pack(k, filters, filter.as<T>(), filters, panels);
      const int64_t row = geometry.columns.out * filters;
      Convolve<T>(context.team(), geometry, images.as<T>(), panels, filters,
                  {context.output().as<T>(), geometry.rows.out * row, row, filters});
    });
  }

 private:
  WindowAttrs attrs_;
};

}  // namespace

void CheckRank4(const Shape& shape, std::string_view what) {
  if (shape.rank() != 4) {
    Throw(Code::kInvalidArgument, "{} must be 4-dimensional, not {}", what, shape.ToString());
  }
}

PatchGeometry ConvolutionGeometry(const WindowAttrs& attrs, const Shape& images, const Shape& filter) {
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

Shape ConvolutionShape(const PatchGeometry& geometry, int64_t filters) {
  return Shape{geometry.batch, geometry.rows.out, geometry.columns.out, filters};
}

void CheckOutputGradient(const PatchGeometry& geometry, int64_t filters, const Shape& gradient) {
  const Shape expected = ConvolutionShape(geometry, filters);
  if (gradient == expected) return;
  Throw(Code::kInvalidArgument, "out_backprop has shape {}, but the convolution's output has {}",
        gradient.ToString(), expected.ToString());
}

ColumnGroups::ColumnGroups(int64_t columns, int64_t panel, int64_t other_tasks)
    : columns_(columns), panel_(panel), panels_((columns + panel - 1) / panel) {
  const int64_t wanted = (kConvolutionTasks + other_tasks - 1) / std::max<int64_t>(1, other_tasks);
  count = std::clamp<int64_t>(std::min(wanted, panels_ / 2), 1, kConvolutionTasks);
}

int64_t ColumnGroups::first(int64_t group) const {
  return std::min(columns_, panels_ * group / count * panel_);
}

template <typename T>
void Convolve(WorkerTeam& team, const PatchGeometry& geometry, const T* images, const T* panels, int64_t n,
              const PositionedOutput<T>& out) {
  const ConvLoops<T>& loops = HostLoops().conv<T>();
  const PatchSource<T> source(geometry, images);
  const PatchRuns runs = source.runs();
  const int64_t k = geometry.patch_elements();
  const ColumnGroups groups(n, loops.panel, source.num_blocks());
  team.ParallelFor(source.num_blocks() * groups.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const auto block = source.block(task / groups.count);
      const int64_t positions = source.num_positions(block);
      const T* const* patches = source.Patches(block);
      T** to = ThreadScratch<ConvolvedPositions, T*>(positions);
      for (int64_t p = 0; p < positions;) {
        const int64_t row = (source.first_position(block) + p) / geometry.columns.out;  // of all images
        int64_t column = (source.first_position(block) + p) % geometry.columns.out;
        T* at = out.data + row / geometry.rows.out * out.image_step + row % geometry.rows.out * out.row_step +
                column * out.column_step;
        for (; column < geometry.columns.out && p < positions; ++column, at += out.column_step) to[p++] = at;
      }
      const int64_t last = groups.first(task % groups.count + 1);
      for (int64_t first = groups.first(task % groups.count); first < last; first += loops.panel) {
        loops.forward(runs, positions, patches, panels + first * k, std::min(loops.panel, n - first), to,
                      first);
      }
    }
  });
}

template void Convolve<float>(WorkerTeam&, const PatchGeometry&, const float*, const float*, int64_t,
                              const PositionedOutput<float>&);
template void Convolve<double>(WorkerTeam&, const PatchGeometry&, const double*, const double*, int64_t,
                               const PositionedOutput<double>&);

void RegisterConvolutionKernels(KernelRegistry& registry) {
  registry.Register("Conv2D", MakeKernel<Conv2DKernel>);
  RegisterConvolutionInputGradient(registry);
  RegisterConvolutionFilterGradient(registry);
}

}  // namespace lanescope::exec
