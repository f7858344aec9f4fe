// Random tensors, number by number those of TensorFlow's CPU kernels for the same seeds. Every group of
// outputs has its own place in the stream, so that work can be split anywhere.
#include <algorithm>
#include <type_traits>

#include "exec/kernels/hash.h"
#include "exec/kernels/tensor_access.h"
#include "exec/philox.h"

namespace lanescope::exec {
namespace {

// Blocks of the stream that a launch reserves for each element of its output, whatever it uses.
constexpr uint64_t kReservedBlocks = 256;
constexpr int64_t kGroupsPerGrain = 4096;

// The node's stream: it begins at its seeds, or where it has none at the session's seed and its name, and
// goes on from launch to launch. (TensorFlow takes a new seed for each session; here a run can be repeated.)
class NodeStream {
 public:
  explicit NodeStream(const Node& node)
      : seed_(static_cast<uint64_t>(node.IntAttr("seed", 0))),
        seed2_(static_cast<uint64_t>(node.IntAttr("seed2", 0))) {
    has_seeds_ = seed_ != 0 || seed2_ != 0;
    if (!has_seeds_) seed2_ = HashOf(node.name);
  }

  // A generator at the current place, which moves on by `blocks`.
  Philox Reserve(KernelContext& context, uint64_t blocks) const {
    Philox philox(has_seeds_ ? seed_ : context.session_seed(), seed2_);
    philox.Skip(context.random_counter());
    context.random_counter() += blocks;
    return philox;
  }

 private:
  uint64_t seed_;
  uint64_t seed2_;
  bool has_seeds_ = false;
};

// Numbers per group: a block of four words gives four of 32 bits or two of 64.
template <typename T>
constexpr int64_t kGroup = 16 / static_cast<int64_t>(sizeof(T));

// Fills out[0, size) by groups: fill(begin, end, store) makes groups [begin, end) and stores each one.
template <typename T, typename Fill>
void FillGroups(T* out, int64_t size, WorkerTeam& team, const Fill& fill) {
  const int64_t groups = (size + kGroup<T> - 1) / kGroup<T>;
  team.ParallelFor(groups, kGroupsPerGrain, [&](int64_t begin, int64_t end) {
    fill(begin, end, [&](int64_t group, const std::array<T, kGroup<T>>& values) {
      const int64_t first = group * kGroup<T>;
      std::copy_n(values.begin(), std::min(kGroup<T>, size - first), out + first);
    });
  });
}

// One block of the stream per group.
template <typename T, typename Convert>
void FillFromBlocks(const Philox& start, T* out, int64_t size, WorkerTeam& team, const Convert& convert) {
  FillGroups<T>(out, size, team, [&](int64_t begin, int64_t end, const auto& store) {
    Philox philox = start;
    philox.Skip(static_cast<uint64_t>(begin));
    for (int64_t group = begin; group < end; ++group) store(group, convert(philox.Next()));
  });
}

struct Uniform {
  static std::array<float, 4> Convert(const Philox::Block& w, float) {
    return {UnitFloat(w[0]), UnitFloat(w[1]), UnitFloat(w[2]), UnitFloat(w[3])};
  }
  static std::array<double, 2> Convert(const Philox::Block& w, double) {
    return {UnitDouble(w[0], w[1]), UnitDouble(w[2], w[3])};
  }
};

struct Normal {
  static std::array<float, 4> Convert(const Philox::Block& w, float) {
    const auto first = NormalPair(w[0], w[1]);
    const auto second = NormalPair(w[2], w[3]);
    return {first[0], first[1], second[0], second[1]};
  }
  static std::array<double, 2> Convert(const Philox::Block& w, double) {
    return NormalPair(w[0], w[1], w[2], w[3]);
  }
};

template <typename Distribution>
class RandomKernel : public Kernel {
 public:
  explicit RandomKernel(const Node& node) : stream_(node) {}

  void Compute(KernelContext& context) override {
    ShapeOutput(context, 0, ReadShape(context.input(0)));
    const TensorRef& out = context.output();
    const int64_t size = out.NumElements();
    const Philox start = stream_.Reserve(context, static_cast<uint64_t>(size) * kReservedBlocks);
    DispatchReal("a random op", out.dtype, [&](auto tag) {
      using T = decltype(tag);
      FillFromBlocks<T>(start, out.as<T>(), size, context.team(),
                        [](const Philox::Block& block) { return Distribution::Convert(block, T{}); });
    });
  }

 private:
  NodeStream stream_;
};

inline std::array<float, 2> NextNormalPair(PhiloxWords& words, float) {
  const uint32_t word0 = words.Next();
  const uint32_t word1 = words.Next();
  return NormalPair(word0, word1);
}

inline std::array<double, 2> NextNormalPair(PhiloxWords& words, double) {
  const uint32_t word0 = words.Next();
  const uint32_t word1 = words.Next();
  const uint32_t word2 = words.Next();
  return NormalPair(word0, word1, word2, words.Next());
}

// Normal numbers within two standard deviations; others are drawn again. A group may so use many blocks: it
// begins at its own reserved stretch of the stream.
class TruncatedNormalKernel : public Kernel {
 public:
  explicit TruncatedNormalKernel(const Node& node) : stream_(node) {}

  void Compute(KernelContext& context) override {
    ShapeOutput(context, 0, ReadShape(context.input(0)));
    const TensorRef& out = context.output();
    const int64_t size = out.NumElements();
    const Philox start = stream_.Reserve(context, static_cast<uint64_t>(size) * kReservedBlocks);
    DispatchReal("TruncatedNormal", out.dtype, [&](auto tag) {
      using T = decltype(tag);
      FillGroups<T>(out.as<T>(), size, context.team(), [&](int64_t begin, int64_t end, const auto& store) {
        for (int64_t group = begin; group < end; ++group) store(group, Group<T>(start, group));
      });
    });
  }

 private:
  static constexpr double kLimit = 2.0;

  template <typename T>
  static std::array<T, kGroup<T>> Group(Philox philox, int64_t group) {
    constexpr uint64_t kBlocksPerGroup = static_cast<uint64_t>(kGroup<T>) * kReservedBlocks / 4;
    philox.Skip(static_cast<uint64_t>(group) * kBlocksPerGroup);
    PhiloxWords words(philox);
    std::array<T, kGroup<T>> values;
    size_t count = 0;
    while (count < values.size()) {
      for (const T value : NextNormalPair(words, T{})) {
        if (count < values.size() && std::abs(value) < static_cast<T>(kLimit)) values[count++] = value;
      }
    }
    return values;
  }

  NodeStream stream_;
};

class RandomUniformIntKernel : public Kernel {
 public:
  explicit RandomUniformIntKernel(const Node& node) : stream_(node) {}

  void Compute(KernelContext& context) override {
    ShapeOutput(context, 0, ReadShape(context.input(0)));
    const int64_t low = ReadInt(context.input(1), "minval");
    const int64_t high = ReadInt(context.input(2), "maxval");
    const TensorRef& out = context.output();
    const int64_t size = out.NumElements();
    if (size == 0) return;
    if (low >= high) Throw(Code::kInvalidArgument, "Need minval < maxval, got {} >= {}", low, high);
    const Philox start = stream_.Reserve(context, static_cast<uint64_t>(size) * kReservedBlocks);
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const auto offset = [&](uint64_t word) { return static_cast<uint64_t>(low) + word % range; };
    if (out.dtype == DataType::kInt32) {
      FillFromBlocks<int32_t>(start, out.as<int32_t>(), size, context.team(), [&](const Philox::Block& w) {
        std::array<int32_t, 4> values;
        for (size_t i = 0; i < 4; ++i) values[i] = static_cast<int32_t>(offset(w[i]));
        return values;
      });
    } else {
      FillFromBlocks<int64_t>(start, out.as<int64_t>(), size, context.team(), [&](const Philox::Block& w) {
        const auto join = [&](uint32_t a, uint32_t b) {
          return static_cast<int64_t>(offset(uint64_t{b} << 32 | a));
        };
        return std::array<int64_t, 2>{join(w[0], w[1]), join(w[2], w[3])};
      });
    }
  }

 private:
  NodeStream stream_;
};

// Rows in random order (Fisher and Yates, from the front).
class RandomShuffleKernel : public Kernel {
 public:
  explicit RandomShuffleKernel(const Node& node) : stream_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int64_t rows = x.shape.rank() == 0 ? 1 : x.shape[0];
    if (x.NumElements() <= 1 || rows <= 1) {
      CopyTensor(context, 0, 0);
      return;
    }
    const auto swaps = static_cast<uint64_t>(rows - 1);
    PhiloxWords words(stream_.Reserve(context, (swaps + 3) / 4));
    std::vector<int64_t> order(static_cast<size_t>(rows));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      std::swap(order[i], order[i + words.Next() % static_cast<uint32_t>(order.size() - i)]);
    }
    ShapeOutput(context, 0, x.shape);
    const int64_t inner = x.NumElements() / rows;
    DispatchBySize(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      T* out = context.output().as<T>();
      for (const int64_t row : order) out = std::copy_n(x.as<T>() + row * inner, inner, out);
    });
  }

 private:
  NodeStream stream_;
};

}  // namespace

void RegisterRandomKernels(KernelRegistry& registry) {
  registry.Register("RandomUniform", MakeKernel<RandomKernel<Uniform>>);
  registry.Register("RandomStandardNormal", MakeKernel<RandomKernel<Normal>>);
  registry.Register("TruncatedNormal", MakeKernel<TruncatedNormalKernel>);
  registry.Register("RandomUniformInt", MakeKernel<RandomUniformIntKernel>);
  registry.Register("RandomShuffle", MakeKernel<RandomShuffleKernel>);
}

}  // namespace lanescope::exec
