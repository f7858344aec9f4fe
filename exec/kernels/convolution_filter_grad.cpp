// The gradient of a convolution by its filter: sums over all positions of all images.
#include <algorithm>
#include <vector>

#include "exec/kernels/convolution.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kMaxParts = 16;
constexpr int64_t kPartsBytes = int64_t{4} << 20;  // of all partial sums together

struct PartialSums;
struct PackedGradients;

// Positions in a fixed number of parts, each of which sums up by itself; few parts where the filter is large,
// whose columns then are the tasks.
template <typename T>
void SumFilterGradient(WorkerTeam& team, const PatchGeometry& geometry, const T* images, const T* gradient,
                       int64_t filters, T* result) {
  const ConvLoops<T>& loops = HostLoops().conv<T>();
  const int64_t k = geometry.patch_elements();
  const int64_t size = PanelElements(k, filters, loops.panel);
  const PatchSource<T> source(geometry, images);
  const int64_t affordable = kPartsBytes / (size * static_cast<int64_t>(sizeof(T)));
  const int64_t parts = std::clamp<int64_t>(std::min(affordable, source.num_blocks()), 1, kMaxParts);
  const ColumnGroups groups(filters, loops.panel, parts);
  T* sums = ThreadScratch<PartialSums, T>(parts * size);
  team.ParallelFor(parts * groups.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task / groups.count;
      const int64_t first = groups.first(task % groups.count);
      const int64_t columns = groups.first(task % groups.count + 1) - first;
      T* own = sums + part * size + first * k;
      std::fill_n(own, PanelElements(k, columns, loops.panel), T(0));
      const int64_t last = source.num_blocks() * (part + 1) / parts;
      for (int64_t index = source.num_blocks() * part / parts; index < last; ++index) {
        team.CheckNotStopped();
        const auto block = source.block(index);
        const int64_t positions = source.num_positions(block);
        T* packed = ThreadScratch<PackedGradients, T>(PanelElements(positions, columns, loops.panel));
        loops.pack(positions, columns, gradient + source.first_position(block) * filters + first, filters,
                   packed);
        loops.filter_grad(source.runs(), positions, source.Patches(block), packed, columns, own);
      }
    }
  });
  team.ParallelFor(filters, loops.panel, [&](int64_t begin, int64_t end) {
    T* panel = sums + begin * k;
    for (int64_t part = 1; part < parts; ++part)
      HostLoops().pool<T>().add(k * loops.panel, panel + part * size, panel);
    loops.unpack(k, end - begin, panel, result + begin, filters);
  });
}

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
    const PatchGeometry geometry = ConvolutionGeometry(attrs_, images.shape, filter);
    CheckOutputGradient(geometry, filter[3], gradient.shape);
    context.SetOutputShape(0, filter);
    if (filter.NumElements() == 0) return;
    DispatchReal("Conv2DBackpropFilter", images.dtype, [&]<typename T>(T) {
      if (gradient.NumElements() == 0) {
        std::fill_n(context.output().as<T>(), filter.NumElements(), T(0));
        return;
      }
      SumFilterGradient<T>(context.team(), geometry, images.as<T>(), gradient.as<T>(), filter[3],
                           context.output().as<T>());
    });
  }

 private:
  WindowAttrs attrs_;
};

}  // namespace

void RegisterConvolutionFilterGradient(KernelRegistry& registry) {
  registry.Register("Conv2DBackpropFilter", MakeKernel<Conv2DBackpropFilterKernel>);
}

}  // namespace lanescope::exec
