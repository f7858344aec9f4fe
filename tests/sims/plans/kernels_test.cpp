// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/kernels.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "sims/plans/gpus.h"

namespace lanescope::sims::plans {
namespace {

// Ten multiprocessors, 1e12 FLOP/s of which large tiles reach half; no ramp, no start.
KernelLaws Plain() {
  KernelLaws laws;
  laws.multiprocessors = 10;
  laws.memory_bytes_per_s = 1e15;
  laws.products[0] = {0.5, 0.25, 0.1, 0, 0, 1, 0, 1e12};
  return laws;
}

// Law: whole waves. Ten tiles of 256 x 128 with depth 100 are one wave of 10 x 2 x 256 x 128 x 100 FLOPs at
// half of the peak; an eleventh takes another.
TEST(KernelLawsTest, ProductsGoByWavesOfTiles) {
  const double wave = 10 * 2.0 * 256 * 128 * 100 / 0.5e12;
  EXPECT_NEAR(ProductSeconds(Plain(), Format::kBf16, 256, 1280, 100), wave, 1e-12);
  EXPECT_NEAR(ProductSeconds(Plain(), Format::kBf16, 256, 1408, 100), 2 * wave, 1e-12);
}

// Law: a product takes no less than reading its operands and writing its result.
TEST(KernelLawsTest, ThinProductsAreMemoryBound) {
  KernelLaws laws = Plain();
  laws.memory_bytes_per_s = 1e9;
  laws.memory_share = 0.5;
  EXPECT_NEAR(ProductSeconds(laws, Format::kBf16, 1, 1000, 1000), 2.0 * (1000 + 1e6 + 1000) / 0.5e9, 1e-9);
}

// Law: power limits products, not passes over memory.
TEST(KernelLawsTest, SustainedClocksStretchProductsAlone) {
  KernelLaws slow = Plain();
  slow.sustained = 0.5;
  EXPECT_DOUBLE_EQ(ProductSeconds(slow, Format::kBf16, 4096, 4096, 4096),
                   2 * ProductSeconds(Plain(), Format::kBf16, 4096, 4096, 4096));
  EXPECT_EQ(PassSeconds(slow, 1e9), PassSeconds(Plain(), 1e9));
}

// Law: a causal mask hides half of the scores.
TEST(KernelLawsTest, CausalAttentionIsHalfOfWhole) {
  KernelLaws laws = Plain();
  laws.attention = {0.5, 0.5, 0, 1e9, 0};
  const AttentionShape causal{4, 2048, 2048, 16, 16, 128};
  EXPECT_NEAR(AttentionSeconds(laws, causal), causal.Flops() / 0.5e12, 1e-6);
  AttentionShape whole = causal;
  whole.causal = false;
  EXPECT_NEAR(AttentionSeconds(laws, whole) / AttentionSeconds(laws, causal), 2, 1e-6);
  AttentionShape ring = causal;
  ring.keys = 1024;
  EXPECT_NEAR(AttentionSeconds(laws, ring) / AttentionSeconds(laws, causal), 1, 1e-6);
}

// Expected: medians of three frameworks, microseconds, that the laws were fitted to among thousands.
TEST(KernelLawsTest, LawsAreNearToMeasuredProducts) {
  KernelLaws laws = KernelLawsOf(*FindGpu("H100-SXM"));
  EXPECT_NEAR(ProductSeconds(laws, Format::kBf16, 32768, 65536, 8192) * 1e6 / 47762, 1, 0.1);
  laws.sustained = (1 + laws.sustained) / 2;  // the others take milliseconds, in which the clock falls
  EXPECT_NEAR(ProductSeconds(laws, Format::kBf16, 8192, 8192, 8192) * 1e6 / 1541.7, 1, 0.1);
  EXPECT_NEAR(ProductSeconds(laws, Format::kBf16, 16384, 7168, 12288) * 1e6 / 3764.3, 1, 0.08);
  laws.sustained = 1;  // attention by itself does not lower it
  EXPECT_NEAR(AttentionSeconds(laws, {1, 8192, 8192, 64, 8, 128}) * 1e6 / 1770.1, 1, 0.12);
}

TEST(KernelLawsTest, EveryGpuHasBf16Products) {
  for (const GpuFacts* gpu : PlanGpus()) {
    const KernelLaws laws = KernelLawsOf(*gpu);
    EXPECT_GT(laws.product(Format::kBf16).flops, 1e14) << gpu->name;
    EXPECT_GT(laws.sustained, 0.5) << gpu->name;
    EXPECT_LE(laws.sustained, 1) << gpu->name;
  }
  EXPECT_THROW(KernelLawsOf(*FindGpu("V100-SXM")), Error);
}

}  // namespace
}  // namespace lanescope::sims::plans
