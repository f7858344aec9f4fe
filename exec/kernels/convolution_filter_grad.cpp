// The gradient of a convolution by its filter: sums over all positions of all images.
#include <algorithm>
#include <vector>

#include "exec/kernels/convolution.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kMaxParts = 16;
constexpr int64_t kPartsBytes = int64_t{8} << 20;  // of all partial sums together

struct PartialSums;
struct PackedGradients;

// Positions in a fixed number of parts, each of which sums up by itself; few parts where the filter is large,
// whose columns then are the tasks.
template <typename T>
void SumFilterGradient(WorkerTeam& team, const ImageWindows& geometry, const T* images, const T* gradient,
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
        for (int64_t run = 0; run < source.num_runs(); ++run) {
          const auto runs = source.RunsOf(block, run);
          loops.filter_grad(source.run_length(), runs.count, runs.from, runs.position, columns, packed,
                            positions * loops.panel, own + run * source.run_length() * loops.panel,
                            k * loops.panel);
        }
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

}  // namespace

void ConvolveFilterGrad(KernelContext& context, const ConvPlan& plan) {
  const TensorRef& images = context.input(0);
  const TensorRef& gradient = context.input(2);
  const TensorRef& out = context.output();
  if (out.NumElements() == 0) return;
  if (gradient.NumElements() == 0) {
    return ZeroElements(out.dtype, out.data, out.NumElements(), context.team());
  }
  DispatchReal("Conv2DBackpropFilter", images.dtype, [&]<typename T>(T) {
    SumFilterGradient<T>(context.team(), plan.windows, images.as<T>(), gradient.as<T>(), plan.filters,
                         out.as<T>());
  });
}

}  // namespace lanescope::exec
