// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/base/error.h"

namespace lanescope::sims::plans {
namespace {

std::string MessageOf(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
  return "no error";
}

std::string CheckOf(const std::string& plan, double batch = 64, double sequence = 4096, double gpus = 0) {
  const Plan parsed = ParsePlan(plan);
  return MessageOf([&] {
    CheckPlan(parsed, NamedModel("llama-3-8b"), batch, sequence, gpus == 0 ? parsed.gpus() : gpus);
  });
}

TEST(PlanTest, TextGoesRound) {
  for (const char* text :
       {"dp=1,micro=1", "dp=4,tp=2,pp=2,shard=zero1,micro=8,sp",
        "dp=8,cp=4,ep=2,vpp=3,shard=fsdp2,recompute=full,micro=2",
        "dp=16,shard=hsdp,shard-size=8,recompute=selective,micro=1,precision=nvfp4,kernels=fused,attention="
        "fp8,graphs",
        "dp=1,tp=8,micro=1,sp,precision=pure-bf16,kernels=eager,attention=flash2,loss=fused,"
        "tp-overlap"})
    EXPECT_EQ(PlanText(ParsePlan(text)), text);
}

TEST(PlanTest, ADefaultThatIsSaidIsTheSame) {
  EXPECT_EQ(
      PlanText(ParsePlan("pp=1,dp=4,tp=1,cp=1,ep=1,vpp=1,shard=none,recompute=none,micro=2,precision=bf16")),
      "dp=4,micro=2");
}

TEST(PlanTest, BlanksAroundKeysDoNotCount) {
  EXPECT_EQ(PlanText(ParsePlan(" dp=64, micro = 1 ,sp ")), "dp=64,micro=1,sp");
}

// Limits: whole numbers of sequences and tokens.
TEST(PlanTest, PartsOfSequencesAreNoBatch) {
  for (const double batch : {2.5, 0.0, -1.0, 1e8, std::nan("")})
    EXPECT_NE(CheckOf("dp=1", batch, 4096, 1).find("a batch of sequences has a whole number"),
              std::string::npos);
  EXPECT_NE(CheckOf("dp=1", 64, 0.5, 1).find("a sequence of tokens has a whole number"), std::string::npos);
}

TEST(PlanTest, WhatIsNoPlanIsSaidWithTheNearest) {
  const std::pair<const char*, const char*> kTexts[] = {{"dp=0", "dp=0: a whole number from 1"},
                                                        {"dp=2x", "a whole number"},
                                                        {"dp=99999999999999999999", "a whole number"},
                                                        {"", "a plan is KEY=VALUE"},
                                                        {"dp=2,", "nothing stands at its end"},
                                                        {"dp=2,,tp=2", "nothing stands before a comma"},
                                                        {"dp", "'dp' has no value"},
                                                        {"tpp=2", "did you mean tp?"},
                                                        {"shard=fsdp", "did you mean fsdp2?"},
                                                        {"recompute=selectiv", "did you mean selective?"},
                                                        {"precision=fp16", "did you mean"},
                                                        {"dp=2,dp=4", "says dp twice"},
                                                        {"graph", "did you mean graphs?"},
                                                        {"sp=2", "sp stands alone in a plan"},
                                                        {"foo=1", "; keys are dp, tp, pp"},
                                                        {"shard=foo", "value; there are none, zero1"},
                                                        {"x\n\x1b[2J=1", "\\n\\x1b"}};
  for (const auto& [text, part] : kTexts) {
    const std::string message = MessageOf([&] { ParsePlan(text); });
    EXPECT_NE(message.find(part), std::string::npos) << text << ": " << message;
  }
}

TEST(PlanTest, WhatDoesNotDivideBringsTheNearestThatDoes) {
  EXPECT_EQ(CheckOf("dp=4,tp=4,pp=4,micro=2,sp"), "no error");
  EXPECT_EQ(CheckOf("tp=5", 64, 4096, 64), "tp=5 does not divide 32 heads; the nearest that does is tp=4");
  EXPECT_EQ(CheckOf("pp=9", 64, 4096, 64), "pp=9 does not divide 32 layers; the nearest that does is pp=8");
  EXPECT_EQ(CheckOf("pp=4,vpp=3"),
            "vpp=3 does not divide 8 layers of a stage; the nearest that does is vpp=2");
  EXPECT_EQ(CheckOf("dp=8,micro=3"),
            "a batch of 64 sequences is no multiple of micro=3 times dp=8; the nearest that is one is 72");
  EXPECT_EQ(CheckOf("dp=7", 64, 4096, 64),
            "dp=7 times tp=1, pp=1 and cp=1 is 7 GPUs, not 64; dp=64 makes them");
  EXPECT_EQ(CheckOf("dp=4,tp=2,pp=8", 64, 4096, 24),
            "tp=2 times pp=8 and cp=1 is 16 GPUs, which do not divide 24; the nearest that do are 12");
  EXPECT_EQ(
      CheckOf("cp=3"),
      "cp=3 cuts a sequence into 6 parts, which do not divide 4096 tokens; the next smaller that does is "
      "cp=2");
  // 8 is nearer to 7, but does not divide 28 GPUs.
  EXPECT_EQ(CheckOf("tp=7", 64, 4096, 28), "tp=7 does not divide 32 heads; the nearest that does is tp=4");
  EXPECT_EQ(CheckOf("dp=7,tp=4", 63, 4096, 28), "no error");
  EXPECT_NE(CheckOf("dp=2,ep=2").find("the model has none"), std::string::npos);
  EXPECT_NE(CheckOf("dp=2,sp").find("give tp"), std::string::npos);
  EXPECT_NE(CheckOf("dp=4,shard=hsdp").find("give shard-size"), std::string::npos);
  EXPECT_NE(CheckOf("pp=4,vpp=2", 6).find("the nearest batch that is one is 8 sequences"), std::string::npos);
}

// First and last stage may have a layer less: Llama 3.1 405B has 126 layers and trains over 8 or 16 stages.
TEST(PlanTest, EndsMayStandForLayers) {
  const Plan plan = ParsePlan("tp=8,pp=16,sp");
  EXPECT_NO_THROW(CheckPlan(plan, NamedModel("llama-3.1-405b"), 64, 8192, 128));
}

}  // namespace
}  // namespace lanescope::sims::plans
