// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/search.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"
#include "sims/plans/formats.h"

namespace lanescope::sims::plans {
namespace {

TEST(PlanSearchTest, BestFitAndInOrder) {
  const PlanMachine machine = NamedMachine("dgx-h100:64");
  const ModelShape model = NamedModel("llama-3-70b");
  const FoundPlans found = SearchPlans(model, machine, {.global_batch = 128, .sequence = 8192});
  ASSERT_GT(found.fitting.size(), 10u);
  for (size_t i = 0; i < found.fitting.size(); ++i) {
    const FoundPlan& one = found.fitting[i];
    EXPECT_NO_THROW(CheckPlan(one.plan, model, 128, 8192, 64)) << PlanText(one.plan);
    EXPECT_LE(MissingBytes(one.fullest, machine), 0) << PlanText(one.plan);
    const FoundPlan& better = found.fitting[i > 0 ? i - 1 : 0];
    EXPECT_GE(one.step.seconds(), better.step.seconds());
  }
  EXPECT_GT(found.fitting[0].step.seconds(), LowerBoundSeconds(model, Precision::kBf16, machine, 128, 8192));
}

// A question asked twice has one answer.
TEST(PlanSearchTest, IsDeterministic) {
  const PlanMachine machine = NamedMachine("dgx-b200:16");
  const PlanSearch search{.global_batch = 32, .sequence = 4096};
  const FoundPlans a = SearchPlans(NamedModel("mixtral-8x7b"), machine, search);
  const FoundPlans b = SearchPlans(NamedModel("mixtral-8x7b"), machine, search);
  EXPECT_EQ(PlanText(a.fitting[0].plan), PlanText(b.fitting[0].plan));
}

TEST(PlanSearchTest, WhatDoesNotFitSaysByHowMuch) {
  try {
    SearchPlans(NamedModel("llama-3.1-405b"), NamedMachine("dgx-h100:8"),
                {.global_batch = 8, .sequence = 8192});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    EXPECT_NE(error.message().find("takes the least"), std::string::npos) << error.message();
  }
}

// Law: fp8 came with Hopper, scales for 32 values with Blackwell; the refusal names what is there.
TEST(PlanSearchTest, FormatsThatAGpuLacksAreRefused) {
  const auto refusal = [](const char* machine, Precision precision) -> std::string {
    try {
      SearchPlans(NamedModel("llama-3-8b"), NamedMachine(machine),
                  {.global_batch = 8, .sequence = 4096, .precision = precision});
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(refusal("dgx-a100:8", Precision::kFp8),
            "precision=fp8: the GPUs of dgx-a100:8 have no products in it, but in bf16, pure-bf16");
  EXPECT_EQ(refusal("dgx-h100:8", Precision::kMxfp8),
            "precision=mxfp8: the GPUs of dgx-h100:8 have no products in it, but in bf16, pure-bf16, fp8, "
            "fp8-row, fp8-block");
  for (const Precision precision : {Precision::kMxfp8, Precision::kNvfp4})
    EXPECT_EQ(refusal("dgx-b200:8", precision), "");
}

TEST(PlanSearchTest, AttentionInAFormatThatAGpuLacksIsRefused) {
  const Plan plan = ParsePlan("dp=8,attention=fp8");
  EXPECT_THROW(CheckFormats(NamedMachine("dgx-a100:8"), plan), Error);
  EXPECT_NO_THROW(CheckFormats(NamedMachine("dgx-h100:8"), plan));
}

TEST(PlanSearchTest, MachinesByName) {
  EXPECT_EQ(NamedMachine("dgx-h100").gpus(), 8);
  EXPECT_EQ(NamedMachine("gb200-nvl72").gpus(), 72);
  for (const char* name : {"dgx-h100:0", "dgx-h100:x", "dgx-h100:", "dgx-h10:8", "dgx-h100:12", "v100x8", ""})
    EXPECT_THROW(NamedMachine(name), Error) << name;
}

}  // namespace
}  // namespace lanescope::sims::plans
