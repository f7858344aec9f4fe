// SPDX-License-Identifier: Apache-2.0
// Which way of cuDNN's convolves a shape (exec/cuda/kernels/convolution_cudnn.cu): order of the tensors and
// algorithm, by times that the stand-in makes up.
#include <filesystem>

#include "core/base/file.h"
#include "tests/exec/cuda/emulated/convolution_fixture.h"
#include "tests/exec/cuda/stub_cuda.h"

namespace lanescope::exec::test {
namespace {

using emulator::kGood;
using emulator::kNondeterministic;
using emulator::kPlanes;

class ConvolutionChoice : public ConvolutionFixture {
 protected:
  static StubCuda& Stub() { return dynamic_cast<StubCuda&>(GpuBackend::Get().api()); }

  // One launch of the forward convolution; `before` is called once its tensors are on the device.
  template <typename Before>
  static OpResult Launch(const ConvSizes& sizes, Before before) {
    const OpCase c = CasesOf(sizes, kFloat).forward;
    const std::unique_ptr<Kernel> kernel = GpuBackend::Get().kernels().Create(c.node);
    GpuContext context(c);
    before();
    kernel->Compute(context);
    return context.Results();
  }
  static void Launch(const ConvSizes& sizes) {
    Launch(sizes, [] {});
  }

  void ExpectLast(int order, int algorithm) const {
    EXPECT_EQ(cudnn_.last_order, order);
    EXPECT_EQ(cudnn_.last_algorithm, algorithm);
  }
  // Launches again on a stream that knows nothing: whether that measures.
  bool MeasuresAgain(const ConvSizes& sizes, bool allow_tf32 = false, bool any_algorithm = false) {
    RenewStream(allow_tf32, any_algorithm);
    const int before = cudnn_.runs;
    Launch(sizes);
    return cudnn_.runs > before + 1;
  }
};

struct WayCase {
  int order, algorithm;
};

// Results are the host's by every way, in all three directions, for odd shapes too; the quickest runs for
// good.
TEST_F(ConvolutionChoice, TheQuickestWayWinsAndIsRight) {
  const ConvSizes shapes[] = {
      same_,
      {Shape{2, 7, 5, 1}, Shape{3, 2, 1, 3}, 1, 1, "VALID"},                                // one channel
      {Shape{1, 5, 7, 3}, Shape{3, 3, 3, 1}, 1, 1, "SAME"},                                 // one filter
      {Shape{1, 3, 3, 2}, Shape{3, 3, 2, 5}, 1, 1, "VALID"},                                // one position
      {Shape{3, 4, 3, 5}, Shape{1, 1, 5, 7}, 1, 1, "SAME"},                                 // 1 x 1
      {Shape{2, 9, 7, 3}, Shape{3, 3, 3, 2}, 2, 1, "VALID"},                                // strides
      {Shape{2, 9, 8, 2}, Shape{3, 3, 2, 3}, 1, 2, "SAME"},                                 // dilated
      {Shape{1, 1, 20, 33}, Shape{1, 3, 33, 9}, 1, 1, "VALID"},                             // a line, tiles
      {Shape{2, 5, 6, 3}, Shape{3, 3, 3, 4}, 1, 1, "EXPLICIT", {0, 0, 2, 2, 1, 1, 0, 0}}};  // padded 2, 1
  for (const WayCase& way : {WayCase{kNhwc, kGood}, WayCase{kNchw, kGood}, WayCase{kNchw, kPlanes}}) {
    for (const ConvSizes& sizes : shapes) {
      Renew();
      MakeQuickest(way.order, way.algorithm);
      CheckConvolution(sizes, kFloat);
      ExpectLast(way.order, way.algorithm);
      // CheckOp launches twice.
      for (const WayCase& w : {WayCase{kNhwc, kGood}, WayCase{kNchw, kGood}, WayCase{kNchw, kPlanes}}) {
        const bool chosen = w.order == way.order && w.algorithm == way.algorithm;
        EXPECT_EQ(cudnn_.ran[w.order][w.algorithm], 3 * (kTries + (chosen ? 2 : 0)));
      }
    }
  }
}

// A kernel takes 10 us. In NHWC the filter is turned (1), in NCHW filter, images and results (3), but no
// images of one channel (2).
TEST_F(ConvolutionChoice, TransposesCount) {
  const ConvSizes one_channel = {Shape{2, 6, 5, 1}, Shape{3, 3, 1, 4}, 1, 1, "SAME"};
  const auto takes = [this](int64_t nchw_ns) {
    Renew();
    emulator::kernel_ns = 10'000;
    cudnn_.takes_ns = [=](int order, int algorithm, int) {
      return order == kNhwc ? 100'000 : algorithm == kPlanes ? nchw_ns : 1'000'000;
    };
  };
  takes(85'000);
  Launch(same_);
  ExpectLast(kNhwc, kGood);
  takes(75'000);
  Launch(same_);
  ExpectLast(kNchw, kPlanes);
  takes(85'000);
  Launch(one_channel);
  ExpectLast(kNchw, kPlanes);
}

// The first run of a way does not count, and the least of the next three does.
TEST_F(ConvolutionChoice, IsByTheLeastOfThreeRunsAfterTheFirst) {
  cudnn_.takes_ns = [](int order, int algorithm, int before) {
    if (order == kNhwc) return before == 0 ? 1'000 : 200'000;
    if (algorithm == kGood) return 150'000;
    return before == 2 ? 100'000 : 900'000;
  };
  Launch(same_);
  ExpectLast(kNchw, kPlanes);
}

TEST_F(ConvolutionChoice, TiesGoToTheEarlier) {
  cudnn_.takes_ns = [](int, int, int) { return 100'000; };
  Launch(same_);
  ExpectLast(kNhwc, kGood);
}

TEST_F(ConvolutionChoice, ChangingOrdersOfSumsAreOnlyForRunsThatAllowThem) {
  MakeQuickest(kNhwc, kNondeterministic);
  Launch(same_);
  EXPECT_NE(cudnn_.last_algorithm, kNondeterministic);
  EXPECT_EQ(cudnn_.ran[kNhwc][kNondeterministic] + cudnn_.ran[kNchw][kNondeterministic], 0);
  for (const int order : {kNhwc, kNchw}) {
    Renew(Answer::kConvolves, false, true);
    MakeQuickest(order, kNondeterministic);
    CheckConvolution(same_, kFloat);
    ExpectLast(order, kNondeterministic);
  }
}

// An algorithm of NCHW alone is found where there is none in NHWC, but not taken untried.
TEST_F(ConvolutionChoice, MayHaveNoWayInNhwc) {
  Renew(Answer::kOnlyPlanes);
  CheckConvolution(same_, kFloat);
  ExpectLast(kNchw, kPlanes);
  Renew(Answer::kOnlyPlanes);
  GpuBackend::Get().launch().SetRecorded(true);
  CheckConvolution(same_, kFloat);
  EXPECT_EQ(cudnn_.convolutions, 0);
}

TEST_F(ConvolutionChoice, IsKeptForOtherStreams) {
  MakeQuickest(kNchw, kPlanes);
  Launch(same_);
  EXPECT_EQ(cudnn_.runs, kWays * kTries + 1);
  EXPECT_FALSE(MeasuresAgain(same_));
  ExpectLast(kNchw, kPlanes);
  // Not for other shapes, other math, more algorithms or another version.
  EXPECT_TRUE(MeasuresAgain({Shape{3, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "SAME"}));
  EXPECT_TRUE(MeasuresAgain(same_, true));
  EXPECT_TRUE(MeasuresAgain(same_, false, true));
  cudnn_.version = 92000;
  EXPECT_TRUE(MeasuresAgain(same_));
  cudnn_.version = 91900;
  EXPECT_FALSE(MeasuresAgain(same_));
  EXPECT_FALSE(MeasuresAgain(same_, true));
  EXPECT_FALSE(MeasuresAgain(same_, false, true));
}

// Bytes and lengths all over what is kept.
TEST_F(ConvolutionChoice, IsMeasuredAnewWhereWhatWasKeptIsDamaged) {
  const auto file = [] { return std::filesystem::directory_iterator(KeptTimesFolder())->path().string(); };
  Launch(same_);
  const std::string kept = ReadFile(file());
  for (size_t i = 0; i < kept.size(); i += 29) {
    std::string damaged = kept;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    WriteFile(file(), damaged);
    EXPECT_TRUE(MeasuresAgain(same_)) << i;
    WriteFile(file(), kept.substr(0, i));
    EXPECT_TRUE(MeasuresAgain(same_)) << i;
  }
  EXPECT_FALSE(MeasuresAgain(same_));
}

// A stream that is captured has its handle and its memory already, as a step that has run once.
TEST_F(ConvolutionChoice, IsTheFirstRankedInNhwcWhileTheStreamIsCaptured) {
  Launch({Shape{4, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "SAME"});
  MakeQuickest(kNchw, kPlanes);
  cudnn_.convolutions = 0;
  cuda::Api& api = GpuBackend::Get().api();
  const StreamHandle stream = GpuBackend::Get().stream();
  const OpCase c = CasesOf(same_, kFloat).forward;
  const std::unique_ptr<Kernel> kernel = GpuBackend::Get().kernels().Create(c.node);
  GpuContext context(c);
  api.BeginCapture(stream);
  kernel->Compute(context);
  const GraphHandle graph = api.EndCapture(stream);
  EXPECT_EQ(cudnn_.convolutions, 1);
  api.LaunchGraph(graph, stream);
  ExpectCloseResults(context.Results(), RunOnHost(c), 1e-5, "captured", ExpectCloseInNorm);
  api.DestroyGraph(graph);
  ExpectLast(kNhwc, kGood);
  // Later launches may measure.
  Launch(same_);
  ExpectLast(kNchw, kPlanes);
}

TEST_F(ConvolutionChoice, IsTheFirstRankedInNhwcWhereEventsFail) {
  for (const char* call : {"cudaEventCreateWithFlags", "cudaEventRecord", "cudaEventSynchronize"}) {
    for (const int nth : {1, 2}) {
      Renew();
      MakeQuickest(kNchw, kPlanes);
      const OpResult result = Launch(same_, [&] { Stub().FailCall(call, nth); });
      ExpectCloseResults(result, RunOnHost(CasesOf(same_, kFloat).forward), 1e-5, call, ExpectCloseInNorm);
      ExpectLast(kNhwc, kGood);
      EXPECT_TRUE(MeasuresAgain(same_)) << call;
    }
  }
}

// Ways that need more memory than there is are left out, and nothing of what is borrowed remains. Two
// measurements with different ways are two.
TEST_F(ConvolutionChoice, IsAmongWaysForWhichThereIsMemory) {
  MakeQuickest(kNchw, kPlanes);
  Launch(same_, [] { Stub().FailCall("cudaMalloc", 1, Code::kResourceExhausted); });
  EXPECT_EQ(cudnn_.ran[kNchw][kPlanes], 0);
  EXPECT_GT(cudnn_.ran[kNchw][kGood], 0);
  EXPECT_TRUE(MeasuresAgain(same_));
  ExpectLast(kNchw, kPlanes);
}

TEST_F(ConvolutionChoice, BorrowsItsMemory) {
  MakeQuickest(kNhwc, kGood);
  const int64_t before = Stub().device_bytes(0);
  Launch(same_);
  // The chosen way's own: a filter and a workspace, a page.
  EXPECT_LE(Stub().device_bytes(0) - before, 4096);
}

// Images of 132 MiB are not transposed: a convolution may take 128 MiB.
TEST_F(ConvolutionChoice, TransposedTensorsCountAsScratchMemory) {
  MakeQuickest(kNchw, kGood);
  Launch({Shape{1, 1, 1 << 20, 33}, Shape{1, 1, 33, 1}, 64, 1, "VALID"});
  EXPECT_EQ(cudnn_.runs, kTries + 1);
  ExpectLast(kNhwc, kGood);
}

}  // namespace
}  // namespace lanescope::exec::test
