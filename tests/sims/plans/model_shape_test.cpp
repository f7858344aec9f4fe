// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/model_shape.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace lanescope::sims::plans {
namespace {

std::string MessageOf(const std::string& json) {
  try {
    ParseModel(json, "m.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
  return "";
}

// Law: a layer has 4 h^2 + 3 h f matrix values where keys are as many as queries and the network is gated,
// and a token takes 6 FLOPs for each, and 6 h s for half of the scores and their values.
TEST(ModelShapeTest, ALayerByHand) {
  ModelShape model;
  model.layers = 1;
  model.hidden = 8;
  model.heads = 2;
  model.ffn = 16;
  model.vocabulary = 10;
  EXPECT_EQ(AttentionParameters(model), 4 * 8 * 8 + 2 * 8);
  EXPECT_EQ(FeedForwardParameters(model, 16), 3 * 8 * 16);
  EXPECT_EQ(Parameters(model), 4 * 64 + 16 + 384 + 2 * 80 + 8);
  EXPECT_EQ(FlopsPerToken(model, 4), 6 * (4 * 64 + 384 + 80) + 6 * 8 * 4);
  model.causal = false;  // twice as many scores
  EXPECT_EQ(FlopsPerToken(model, 4), 6 * (4 * 64 + 384 + 80) + 2 * 6 * 8 * 4);
}

// Expected: what the models' own pages say, in billions.
TEST(ModelShapeTest, PublishedModelsHaveTheirParameters) {
  const std::pair<const char*, double> kModels[] = {
      {"gpt2", 0.124},         {"llama-2-70b", 68.98},  {"llama-3-8b", 8.03},   {"llama-3.1-405b", 405.85},
      {"mixtral-8x7b", 46.7},  {"qwen3-30b-a3b", 30.5}, {"deepseek-v3", 671.0}, {"gpt-oss-120b", 116.8},
      {"llama-3.2-1b", 1.236}, {"qwen2.5-72b", 72.7}};
  for (const auto& [name, billions] : kModels)
    EXPECT_NEAR(Parameters(NamedModel(name)) / 1e9 / billions, 1, 0.015) << name;
}

TEST(ModelShapeTest, EveryNamedModelIsOne) {
  for (const std::string_view name : ModelNames()) EXPECT_NO_THROW(CheckModel(NamedModel(name))) << name;
}

TEST(ModelShapeTest, AnUnknownNameBringsTheNearest) {
  try {
    NamedModel("llama-3.1-71b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(error.message().find("did you mean llama-3.1-70b?"), std::string::npos) << error.message();
  }
}

// Law: kinds of models whose tokens see all others are not causal, unless the file says so.
TEST(ModelShapeTest, EncodersAreNotCausal) {
  const auto causal = [](const std::string& more) {
    return ParseModel(
               R"({"num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16,
                          "vocab_size": 10)" +
                   more + "}",
               "m.json")
        .causal;
  };
  EXPECT_TRUE(causal(""));
  EXPECT_TRUE(causal(R"(, "model_type": "llama")"));
  for (const char* kind : {"bert", "xlm-roberta", "modernbert", "electra", "vit", "t5"})
    EXPECT_FALSE(causal(std::string(R"(, "model_type": ")") + kind + "\"")) << kind;
  EXPECT_TRUE(causal(R"(, "model_type": "bert", "is_decoder": true)"));
  EXPECT_FALSE(causal(R"(, "causal": false)"));
  EXPECT_NE(
      MessageOf(
          R"({"num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16,
                          "vocab_size": 10, "causal": 1})")
          .find("\"causal\" is true or false"),
      std::string::npos);
}

// A file says the same in names of its own or of config.json, which says much else.
TEST(ModelShapeTest, FilesReadBothNames) {
  const ModelShape own = ParseModel(
      R"({"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "ffn": 128, "vocabulary": 100, "tied": true})",
      "a");
  const ModelShape theirs = ParseModel(
      R"({"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
          "intermediate_size": 128, "vocab_size": 100, "tie_word_embeddings": true, "head_dim": null,
          "model_type": "llama", "rope_scaling": {"factor": 8}})",
      "b");
  EXPECT_EQ(Parameters(own), Parameters(theirs));
  EXPECT_EQ(own.HeadSize(), 16);
}

TEST(ModelShapeTest, HostileFilesAreOneLine) {
  const std::pair<const char*, const char*> kFiles[] = {
      {"[]", "JSON object"},
      {"{", "line"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocabulary": 100, "ffn": 9, "colour": 1})", "colour"},
      {R"({"layers": "2", "hidden": 64, "heads": 4, "vocabulary": 100})", "\"layers\" is a number"},
      {R"({"hidden": 64, "heads": 4, "vocabulary": 100})",
       "\"layers\" (or \"num_hidden_layers\") is missing"},
      {R"({"layers": -2, "hidden": 64, "heads": 4, "vocabulary": 100, "ffn": 9})", "whole number"},
      {R"({"layers": 2, "hidden": 1e300, "heads": 4, "vocabulary": 100, "ffn": 9})", "whole number"},
      {R"({"layers": 2, "hidden": 65, "heads": 4, "vocabulary": 100, "ffn": 9})", "no multiple"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 3, "vocabulary": 100, "ffn": 9})",
       "no multiple"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocabulary": 100, "ffn": 9, "tied": 1})", "true or false"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocabulary": 100, "experts": 4, "top_k": 8, "expert_ffn": 8})",
       "at most all 4"}};
  for (const auto& [json, part] : kFiles) {
    const std::string message = MessageOf(json);
    EXPECT_NE(message.find(part), std::string::npos) << json << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace lanescope::sims::plans
