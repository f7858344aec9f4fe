#include "exec/kernels/product.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "exec/loops/loops.h"

namespace lanescope::exec {
namespace {

// Rows of c whose part of a stays in the second-level cache while all panels of b pass by.
constexpr int64_t kBlockRows = 96;
// Elements of k in one pass: a panel's slice fits the first-level caches' successor; along a transposed a
// every element is a line of its own, so that fewer fit.
constexpr int64_t kDepth = 512;
constexpr int64_t kTransposedDepth = 256;
// Below this many rows b is read where it lies; above, copying it into panels pays off.
constexpr int64_t kPackRows = 192;
constexpr int64_t kTaskFlops = 1'000'000;
constexpr int64_t kWantedTasks = 16;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

void ForBlocks(WorkerTeam* team, int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) {
  if (team != nullptr) {
    team->ParallelFor(n, grain, fn);
  } else if (n > 0) {
    fn(0, n);
  }
}

template <typename T>
class Product {
 public:
  Product(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c)
      : m_(m), n_(n), k_(k), a_(a), b_(b), c_(c), panels_(CeilDiv(n, loops_.panel)) {
    // What cannot be read in place: all of b, or only a last panel that is not whole.
    const bool pack_all = b.transposed || m > kPackRows;
    first_packed_ = pack_all ? 0 : n / loops_.panel;
    row_blocks_ = CeilDiv(m, kBlockRows);
    const int64_t flops = 2 * std::min(m, kBlockRows) * loops_.panel * k;
    const int64_t wanted = std::max<int64_t>(1, kWantedTasks / row_blocks_);
    group_ = std::max({int64_t{1}, panels_ / wanted, kTaskFlops / std::max<int64_t>(1, flops)});
    groups_ = CeilDiv(panels_, group_);
  }

  void Run(WorkerTeam* team) {
    thread_local std::vector<T> scratch;
    const auto needed = static_cast<size_t>((panels_ - first_packed_) * k_ * loops_.panel);
    if (scratch.size() < needed) scratch.resize(needed);
    packed_ = scratch.data();
    ForBlocks(team, panels_ - first_packed_, std::max<int64_t>(1, 16384 / (k_ * loops_.panel)),
              [this](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) Pack(first_packed_ + i);
              });
    const int64_t task_flops =
        std::max<int64_t>(1, 2 * std::min(m_, kBlockRows) * group_ * loops_.panel * k_);
    ForBlocks(team, row_blocks_ * groups_, std::max<int64_t>(1, kTaskFlops / task_flops),
              [this](int64_t begin, int64_t end) {
                for (int64_t task = begin; task < end; ++task) RunTask(task / groups_, task % groups_);
              });
  }

 private:
  int64_t ColumnsOf(int64_t panel) const { return std::min(loops_.panel, n_ - panel * loops_.panel); }
  T* PackedPanel(int64_t panel) const { return packed_ + (panel - first_packed_) * k_ * loops_.panel; }

  void Pack(int64_t panel) const {
    const int64_t column = panel * loops_.panel;
    const T* from = b_.data + (b_.transposed ? column * b_.stride : column);
    loops_.pack(k_, ColumnsOf(panel), from, b_.transposed ? 1 : b_.stride, b_.transposed ? b_.stride : 1,
                PackedPanel(panel));
  }

  void RunTask(int64_t row_block, int64_t group) const {
    const int64_t row = row_block * kBlockRows;
    const int64_t rows = std::min(kBlockRows, m_ - row);
    const int64_t depth = a_.transposed ? kTransposedDepth : kDepth;
    const int64_t a_row = a_.transposed ? 1 : a_.stride;
    const int64_t a_k = a_.transposed ? a_.stride : 1;
    const int64_t last = std::min(panels_, (group + 1) * group_);
    for (int64_t first = 0; first < k_; first += depth) {
      const int64_t count = std::min(depth, k_ - first);
      for (int64_t panel = group * group_; panel < last; ++panel) {
        const bool packed = panel >= first_packed_;
        const int64_t b_step = packed ? loops_.panel : b_.stride;
        const T* b = (packed ? PackedPanel(panel) : b_.data + panel * loops_.panel) + first * b_step;
        loops_.multiply(rows, ColumnsOf(panel), count, a_.data + row * a_row + first * a_k, a_row, a_k, b,
                        b_step, c_ + row * n_ + panel * loops_.panel, n_, first > 0);
      }
    }
  }

  const ProductLoops<T>& loops_ = HostLoops().product<T>();
  int64_t m_, n_, k_;
  MatrixView<T> a_, b_;
  T* c_;
  int64_t panels_;
  int64_t first_packed_;  // panels from this one on are copied
  int64_t row_blocks_;
  int64_t group_;  // panels of a task
  int64_t groups_;
  T* packed_ = nullptr;
};

// y[i] = row i of the stored matrix times x.
template <typename T>
void MultiplyRows(WorkerTeam* team, int64_t rows, int64_t columns, const T* matrix, int64_t stride,
                  const T* x, T* y) {
  ForBlocks(team, rows, std::max<int64_t>(1, 16384 / columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      y[i] = HostLoops().product<T>().dot(columns, matrix + i * stride, x);
  });
}

// A vector is contiguous whichever way it is stored, so that products with one are rows times a vector or,
// where the matrix lies the other way, a product with one row.
template <typename T>
void MultiplyReal(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  if (n == 1 && !a.transposed) return MultiplyRows(team, m, k, a.data, a.stride, b.data, c);
  if (m == 1 && b.transposed) return MultiplyRows(team, n, k, b.data, b.stride, a.data, c);
  if (n == 1) {
    Product<T>(1, m, k, {b.data, k, false}, {a.data, a.stride, false}, c).Run(team);
  } else if (m == 1) {
    Product<T>(1, n, k, {a.data, k, false}, b, c).Run(team);
  } else {
    Product<T>(m, n, k, a, b, c).Run(team);
  }
}

template <typename T>
void MultiplyIntegers(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b,
                      T* c) {
  using Wide = std::make_unsigned_t<T>;
  ForBlocks(team, m, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n * k)),
            [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) {
                T* row = c + i * n;
                std::fill_n(row, n, T(0));
                for (int64_t l = 0; l < k; ++l) {
                  const auto x =
                      static_cast<Wide>(a.transposed ? a.data[l * a.stride + i] : a.data[i * a.stride + l]);
                  for (int64_t j = 0; j < n; ++j) {
                    const auto y =
                        static_cast<Wide>(b.transposed ? b.data[j * b.stride + l] : b.data[l * b.stride + j]);
                    row[j] = static_cast<T>(static_cast<Wide>(row[j]) + x * y);
                  }
                }
              }
            });
}

}  // namespace

template <typename T>
void Multiply(WorkerTeam* team, int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, m * n, T(0));
  } else if constexpr (std::is_floating_point_v<T>) {
    MultiplyReal(team, m, n, k, a, b, c);
  } else {
    MultiplyIntegers(team, m, n, k, a, b, c);
  }
}

template void Multiply<float>(WorkerTeam*, int64_t, int64_t, int64_t, MatrixView<float>, MatrixView<float>,
                              float*);
template void Multiply<double>(WorkerTeam*, int64_t, int64_t, int64_t, MatrixView<double>, MatrixView<double>,
                               double*);
template void Multiply<int32_t>(WorkerTeam*, int64_t, int64_t, int64_t, MatrixView<int32_t>,
                                MatrixView<int32_t>, int32_t*);
template void Multiply<int64_t>(WorkerTeam*, int64_t, int64_t, int64_t, MatrixView<int64_t>,
                                MatrixView<int64_t>, int64_t*);

}  // namespace lanescope::exec
