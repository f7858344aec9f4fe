// SPDX-License-Identifier: Apache-2.0
// Speed of host kernels on one worker: matrix products, convolutions,
// transcendental loops against the C library, streaming loops against memcpy.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "exec/loops/loops.h"
#include "tests/exec/kernel_harness.h"

namespace lanescope::exec {
namespace {

using test::IntsAttr;
using test::MakeNode;
using test::OutputPlan;
using test::StringAttr;

// Blocks in order on the calling thread.
class SerialTeam final : public WorkerTeam {
 public:
  void ParallelFor(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& fn) override {
    for (int64_t begin = 0; begin < n; begin += grain) fn(begin, std::min(n, begin + grain));
  }
};

Tensor Ramp(const Shape& shape) {
  Tensor tensor(DataType::kFloat, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(i % 1009) / 500.0f - 1.0f;
  }
  return tensor;
}

void RunNode(benchmark::State& state, const Node& node, const std::vector<Tensor>& inputs,
             const Shape& output, double flops) {
  SerialTeam team;
  test::TestContext context(inputs, std::vector<OutputPlan>{{DataType::kFloat, output}}, team);
  const std::unique_ptr<Kernel> kernel = KernelRegistry::Host().Create(node);
  for (auto _ : state) kernel->Compute(context);
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void MatMulKernel(benchmark::State& state) {
  const int64_t m = state.range(0);
  const int64_t n = state.range(1);
  const int64_t k = state.range(2);
  RunNode(state, MakeNode("MatMul", {{"T", DataType::kFloat}}), {Ramp(Shape{m, k}), Ramp(Shape{k, n})},
          Shape{m, n}, 2.0 * static_cast<double>(m * n * k));
}
BENCHMARK(MatMulKernel)
    ->Args({32, 64, 7970})
    ->Args({7970, 64, 32})
    ->Args({64, 64, 64})
    ->Args({256, 256, 256})
    ->Args({512, 512, 512})
    ->Args({2048, 2048, 2048})
    ->Args({128, 384, 2304});

struct ConvCase {
  const char* name;
  Shape images;
  Shape filter;
  const char* padding;
};
const ConvCase kConvCases[] = {{"conv1d 128x200x64 k3", {128, 1, 200, 64}, {1, 3, 64, 64}, "SAME"},
                               {"DeepCoNN 32x800x50 k3", {32, 1, 800, 50}, {1, 3, 50, 10}, "VALID"},
                               {"CIFAR-10 conv1", {128, 24, 24, 3}, {5, 5, 3, 64}, "SAME"},
                               {"CIFAR-10 conv2", {128, 12, 12, 64}, {5, 5, 64, 64}, "SAME"}};

void Convolution(benchmark::State& state, const std::string& op) {
  const ConvCase& c = kConvCases[state.range(0)];
  const bool valid = std::string(c.padding) == "VALID";
  const Shape out{c.images[0], c.images[1] - (valid ? c.filter[0] - 1 : 0),
                  c.images[2] - (valid ? c.filter[1] - 1 : 0), c.filter[3]};
  const Node node = MakeNode(op, {{"T", DataType::kFloat},
                                  {"strides", IntsAttr({1, 1, 1, 1})},
                                  {"padding", StringAttr(c.padding)},
                                  {"data_format", StringAttr("NHWC")}});
  const auto sizes = [](const Shape& shape) {
    std::vector<int32_t> values(shape.dims().begin(), shape.dims().end());
    return Tensor::FromValues<int32_t>(Shape{4}, values);
  };
  const double flops = 2.0 * static_cast<double>(out.NumElements() * c.filter[0] * c.filter[1] * c.filter[2]);
  state.SetLabel(c.name);
  if (op == "Conv2D") {
    RunNode(state, node, {Ramp(c.images), Ramp(c.filter)}, out, flops);
  } else if (op == "Conv2DBackpropInput") {
    RunNode(state, node, {sizes(c.images), Ramp(c.filter), Ramp(out)}, c.images, flops);
  } else {
    RunNode(state, node, {Ramp(c.images), sizes(c.filter), Ramp(out)}, c.filter, flops);
  }
}
BENCHMARK_CAPTURE(Convolution, forward, "Conv2D")->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Convolution, images, "Conv2DBackpropInput")
    ->DenseRange(0, 3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Convolution, filter, "Conv2DBackpropFilter")
    ->DenseRange(0, 3)
    ->Unit(benchmark::kMillisecond);

constexpr int64_t kMillion = 1 << 20;

void TanhLibrary(benchmark::State& state) {
  const Tensor x = Ramp(Shape{kMillion});
  Tensor y(DataType::kFloat, x.shape());
  for (auto _ : state) {
    for (int64_t i = 0; i < kMillion; ++i) y.data<float>()[i] = std::tanh(x.data<float>()[i]);
  }
  state.SetItemsProcessed(state.iterations() * kMillion);
}
BENCHMARK(TanhLibrary);

void UnaryLoops(benchmark::State& state, UnaryOp op) {
  const Tensor x = Ramp(Shape{kMillion});
  Tensor y(DataType::kFloat, x.shape());
  const UnaryLoop loop = HostLoops().unary[static_cast<size_t>(op)][static_cast<size_t>(LoopType::kFloat)];
  for (auto _ : state) loop(kMillion, x.data<float>(), y.data<float>());
  state.SetItemsProcessed(state.iterations() * kMillion);
}
BENCHMARK_CAPTURE(UnaryLoops, tanh, UnaryOp::kTanh);
BENCHMARK_CAPTURE(UnaryLoops, exp, UnaryOp::kExp);
BENCHMARK_CAPTURE(UnaryLoops, log, UnaryOp::kLog);
BENCHMARK_CAPTURE(UnaryLoops, erf, UnaryOp::kErf);

// Three streams of 64 MiB each; memcpy moves two.
constexpr int64_t kStream = 16 << 20;

void StreamAdd(benchmark::State& state) {
  RunNode(state, MakeNode("AddV2", {{"T", DataType::kFloat}}), {Ramp(Shape{kStream}), Ramp(Shape{kStream})},
          Shape{kStream}, static_cast<double>(kStream));
  state.SetBytesProcessed(state.iterations() * kStream * 12);
}
BENCHMARK(StreamAdd)->Unit(benchmark::kMillisecond);

void StreamCopy(benchmark::State& state) {
  const Tensor x = Ramp(Shape{kStream});
  Tensor y(DataType::kFloat, x.shape());
  for (auto _ : state) std::memcpy(y.raw_data(), x.raw_data(), static_cast<size_t>(kStream) * 4);
  state.SetBytesProcessed(state.iterations() * kStream * 8);
}
BENCHMARK(StreamCopy)->Unit(benchmark::kMillisecond);

// Adam over DeepCoNN's embedding table.
void Adam(benchmark::State& state) {
  const int64_t n = int64_t{90000} * 50;
  const Tensor grad = Ramp(Shape{n});
  Tensor var = Ramp(Shape{n});
  Tensor m(DataType::kFloat, Shape{n});
  Tensor v(DataType::kFloat, Shape{n});
  for (auto _ : state) {
    HostLoops().train<float>().adam(n, 1e-3f, 0.9f, 0.999f, 1e-8f, false, grad.data<float>(),
                                    var.data<float>(), m.data<float>(), v.data<float>());
  }
  state.SetBytesProcessed(state.iterations() * n * 28);
}
BENCHMARK(Adam)->Unit(benchmark::kMillisecond);

// Pooling and normalisation of CIFAR-10 and DeepCoNN.
void Pool(benchmark::State& state, const std::string& op, const Shape& images, std::vector<int64_t> size,
          std::vector<int64_t> strides, const Shape& out, const std::string& padding) {
  const Node node = MakeNode(op, {{"T", DataType::kFloat},
                                  {"ksize", IntsAttr({1, size[0], size[1], 1})},
                                  {"strides", IntsAttr({1, strides[0], strides[1], 1})},
                                  {"padding", StringAttr(padding)}});
  if (op == "MaxPool") {
    RunNode(state, node, {Ramp(images)}, out, static_cast<double>(out.NumElements() * size[0] * size[1]));
  } else {
    RunNode(state, node, {Ramp(images), Ramp(out), Ramp(out)}, images,
            static_cast<double>(out.NumElements() * size[0] * size[1]));
  }
}
void PoolText(benchmark::State& state, const std::string& op) {
  Pool(state, op, Shape{32, 1, 798, 10}, {1, 2}, {1, 1}, Shape{32, 1, 797, 10}, "VALID");
}
void PoolImages(benchmark::State& state, const std::string& op) {
  Pool(state, op, Shape{128, 24, 24, 64}, {3, 3}, {2, 2}, Shape{128, 12, 12, 64}, "SAME");
}
BENCHMARK_CAPTURE(PoolText, forward, "MaxPool")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PoolText, gradient, "MaxPoolGrad")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PoolImages, forward, "MaxPool")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PoolImages, gradient, "MaxPoolGrad")->Unit(benchmark::kMillisecond);

void Lrn(benchmark::State& state, const std::string& op) {
  const Shape shape{128, 12, 12, 64};
  const Node node = MakeNode(op, {{"T", DataType::kFloat},
                                  {"depth_radius", test::IntAttr(4)},
                                  {"bias", 1.0f},
                                  {"alpha", 0.001f / 9},
                                  {"beta", 0.75f}});
  std::vector<Tensor> inputs(op == "LRN" ? 1 : 3, Ramp(shape));
  RunNode(state, node, inputs, shape, 20.0 * static_cast<double>(shape.NumElements()));
}
BENCHMARK_CAPTURE(Lrn, forward, "LRN")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Lrn, gradient, "LRNGrad")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lanescope::exec
