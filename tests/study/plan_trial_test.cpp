// SPDX-License-Identifier: Apache-2.0
#include "study/compare/plan_trial.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/file.h"
#include "core/graph/graph_io.h"
#include "study/base/temporary_folder.h"
#include "tests/study/small_transformer.h"
#include "tests/support/paths.h"

namespace lanescope::study {
namespace {

using sims::plans::ParsePlan;
using ::testing::HasSubstr;

std::string StrategyFor(const std::string& plan) { return FindStrategyOf(ParsePlan(plan)).strategy; }

// Law: a plan that splits a model in one way has a strategy, and one that splits it in several a product of
// strategies, outer factors first; what no strategy does is said.
TEST(PlanTrialTest, PlansHaveStrategies) {
  EXPECT_EQ(StrategyFor("dp=4"), "data-parallel");
  EXPECT_EQ(StrategyFor("dp=4,shard=fsdp2"), "fsdp");
  EXPECT_EQ(StrategyFor("tp=2"), "tensor-parallel");
  EXPECT_EQ(StrategyFor("tp=2,sp"), "sequence-parallel");
  EXPECT_EQ(StrategyFor("dp=2,tp=4,sp"), "data-parallel+sequence-parallel:4");
  EXPECT_EQ(StrategyFor("pp=2"), "pipeline");
  EXPECT_EQ(StrategyFor("dp=4,shard=zero1"), "zero1");
  EXPECT_EQ(StrategyFor("dp=4,shard=zero2"), "zero2");
  EXPECT_EQ(StrategyFor("dp=4,shard=hsdp,shard-size=2"), "data-parallel+fsdp:2");
  EXPECT_EQ(StrategyFor("dp=4,shard=hsdp,shard-size=4"), "fsdp");
  EXPECT_EQ(StrategyFor("dp=2,tp=2,shard=zero1"), "zero1+tensor-parallel:2");
  EXPECT_EQ(StrategyFor("dp=4,tp=2,shard=hsdp,shard-size=2"), "data-parallel+fsdp:2+tensor-parallel:2");
  EXPECT_EQ(StrategyFor("dp=2,tp=4"), "data-parallel+tensor-parallel:4");
  EXPECT_EQ(StrategyFor("pp=2,tp=4"), "pipeline+tensor-parallel:4");
  EXPECT_EQ(StrategyFor("dp=2,pp=4"), "data-parallel+pipeline:4");
  EXPECT_EQ(StrategyFor("dp=2,tp=2,pp=4"), "data-parallel+pipeline:4+tensor-parallel:2");
  EXPECT_EQ(StrategyFor("dp=2,tp=2,shard=fsdp2"), "fsdp+tensor-parallel:2");
  EXPECT_THAT(FindStrategyOf(ParsePlan("dp=2,pp=2,shard=fsdp2")).why_not, HasSubstr("stages"));
  EXPECT_EQ(StrategyFor("pp=2,vpp=2"), "pipeline-interleaved-2");
  EXPECT_EQ(StrategyFor("dp=2,pp=4,vpp=3"), "data-parallel+pipeline-interleaved-3:4");
  EXPECT_EQ(StrategyFor("recompute=full"), "recompute");
  EXPECT_EQ(StrategyFor("pp=2,tp=2,recompute=full"), "recompute+pipeline+tensor-parallel:2");
  EXPECT_EQ(StrategyFor("dp=4,ep=4"), "expert-parallel");
  EXPECT_EQ(StrategyFor("dp=4,ep=2"), "data-parallel+expert-parallel:2");
  EXPECT_THAT(FindStrategyOf(ParsePlan("dp=4,ep=2,shard=zero1")).why_not, HasSubstr("zero1"));
  EXPECT_THAT(FindStrategyOf(ParsePlan("dp=2,tp=2,ep=2")).why_not, HasSubstr("matrices"));
  EXPECT_THAT(FindStrategyOf(ParsePlan("dp=2,pp=2,shard=zero1")).why_not, HasSubstr("stages"));
  EXPECT_EQ(StrategyFor("dp=2,recompute=full"), "recompute+data-parallel");
  EXPECT_EQ(StrategyFor("dp=4,shard=fsdp2,recompute=full"), "recompute+fsdp");
  EXPECT_EQ(StrategyFor("recompute=selective"), "recompute-selective");
  EXPECT_EQ(StrategyFor("dp=2,recompute=selective"), "recompute-selective+data-parallel");
  EXPECT_EQ(StrategyFor("dp=4,ep=2,recompute=selective"),
            "recompute-selective+data-parallel+expert-parallel:2");
  EXPECT_EQ(StrategyFor("cp=2"), "ring-attention");
  EXPECT_EQ(StrategyFor("dp=2,cp=2"), "data-parallel+ring-attention:2");
  EXPECT_EQ(StrategyFor("dp=2,cp=2,shard=fsdp2"), "fsdp+ring-attention:2");
  EXPECT_EQ(StrategyFor("dp=2,cp=2,pp=2"), "data-parallel+pipeline:2+ring-attention:2");
  EXPECT_EQ(StrategyFor("dp=2,cp=2,shard=hsdp,shard-size=2"), "fsdp+ring-attention:2");
  EXPECT_EQ(StrategyFor("cp=2,tp=2"), "ring-attention+tensor-parallel:2");
  EXPECT_EQ(StrategyFor("dp=2,cp=4,tp=2,sp,shard=zero1"), "zero1+ring-attention:4+sequence-parallel:2");
  EXPECT_EQ(StrategyFor("cp=2,tp=2,pp=2"), "pipeline+ring-attention:2+tensor-parallel:2");
  EXPECT_THAT(FindStrategyOf(ParsePlan("cp=2,shard=zero1")).why_not, HasSubstr("shards as zero1 does"));
  EXPECT_THAT(FindStrategyOf(ParsePlan("dp=2,cp=2,shard=hsdp,shard-size=4")).why_not, HasSubstr("hsdp"));
}

// Law: a plan that runs trains to the loss of one device; a shape alone, and too many devices, run nothing.
TEST(PlanTrialTest, PlansTrainLikeOneDevice) {
  const std::string graph = test::SourceDir() + "/samples/graphs/polynomial.pbtxt";
  const PlanTrial trial = TryPlan(ParsePlan("dp=2"), graph, 2, nullptr);
  EXPECT_EQ(trial.how.strategy, "data-parallel");
  EXPECT_EQ(trial.devices, 2);
  EXPECT_GT(trial.step_ns, 0);
  EXPECT_NEAR(trial.loss / trial.whole, 1, 1e-3);
  const PlanTrial interleaved = TryPlan(ParsePlan("pp=2,vpp=2"), graph, 2, nullptr);
  EXPECT_EQ(interleaved.how.strategy, "pipeline-interleaved-2") << interleaved.how.why_not;
  EXPECT_NEAR(interleaved.loss / interleaved.whole, 1, 1e-3);
  EXPECT_THAT(TryPlan(ParsePlan("dp=2,recompute=full"), graph, 2, nullptr).how.why_not,
              HasSubstr("numbered scope"));
  EXPECT_THAT(TryPlan(ParsePlan("dp=2"), "llama-3.1-70b", 2, nullptr).how.why_not,
              HasSubstr("give the model's graph"));
  EXPECT_THAT(TryPlan(ParsePlan("dp=32"), graph, 2, nullptr).how.why_not, HasSubstr("32 devices"));
}

// Law: plans that split sequences, alone and with matrices, train to the loss of one device.
TEST(PlanTrialTest, PlansOfSequencesTrainLikeOneDevice) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model.pb";
  const Workload workload = Transformer(8).Take();
  WriteGraph(workload.graph(), path);
  const RunSpec& spec = workload.spec();
  std::string feeds;
  for (const char* name : {"ids", "labels"}) {
    feeds += fmt::format(
        R"({}"{}": {{"dtype": "int32", "shape": [{}, 8], "generator": "integers", "low": 0, "high": {}}})",
        feeds.empty() ? "" : ", ", name, Transformer::kBatch, Transformer::kWords - 1);
  }
  WriteFile(
      folder.path() + "/model.run.json",
      fmt::format(R"({{"feeds": {{{}}}, "loss": "{}", "fetches": ["{}"], "targets": ["{}"], "init": ["{}"],
                        "batch_axis": {{"ids": 0, "labels": 0}}}})",
                  feeds, spec.loss, spec.loss, spec.targets[0], spec.init[0]));
  for (const char* plan : {"cp=2", "cp=2,tp=2", "cp=2,tp=2,sp", "dp=2,cp=2,tp=2,shard=fsdp2"}) {
    const PlanTrial trial = TryPlan(ParsePlan(plan), path, 3, nullptr);
    EXPECT_EQ(trial.how.why_not, "") << plan;
    EXPECT_NEAR(trial.loss / trial.whole, 1, 1e-6) << plan;
  }
}

}  // namespace
}  // namespace lanescope::study
