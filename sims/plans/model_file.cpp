// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json_object.h"
#include "sims/plans/model_shape.h"

namespace lanescope::sims::plans {
namespace {

using nlohmann::json;

struct Field {
  const char* name;
  const char* hugging_face;  // null: has no such name
  double ModelShape::*number;
  bool required = false;
};

constexpr Field kFields[] = {
    {"layers", "num_hidden_layers", &ModelShape::layers, true},
    {"hidden", "hidden_size", &ModelShape::hidden, true},
    {"heads", "num_attention_heads", &ModelShape::heads, true},
    {"kv_heads", "num_key_value_heads", &ModelShape::kv_heads},
    {"head_size", "head_dim", &ModelShape::head_size},
    {"ffn", "intermediate_size", &ModelShape::ffn},
    {"vocabulary", "vocab_size", &ModelShape::vocabulary, true},
    {"experts", "num_experts", &ModelShape::experts},
    {"experts", "num_local_experts", &ModelShape::experts},
    {"experts", "n_routed_experts", &ModelShape::experts},
    {"top_k", "num_experts_per_tok", &ModelShape::top_k},
    {"expert_ffn", "moe_intermediate_size", &ModelShape::expert_ffn},
    {"shared_ffn", "shared_expert_intermediate_size", &ModelShape::shared_ffn},
    {"dense_layers", "first_k_dense_replace", &ModelShape::dense_layers},
    {"query_rank", "q_lora_rank", &ModelShape::query_rank},
    {"kv_rank", "kv_lora_rank", &ModelShape::kv_rank},
    {"lora_rank", nullptr, &ModelShape::lora_rank},
};

// Null, as config.json writes what a model does not have, is as if it were not there.
const json* Find(const json& object, const char* name) {
  if (name == nullptr) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool Flag(const json& object, const std::string& where, const char* name, const char* hugging_face,
          bool usual) {
  for (const char* key : {name, hugging_face}) {
    const json* value = Find(object, key);
    if (value == nullptr) continue;
    if (!value->is_boolean()) Throw(Code::kInvalidArgument, "{}: \"{}\" is true or false", where, key);
    return value->get<bool>();
  }
  return usual;
}

// Only a file of ours is held to known keys: a config.json says much else.
void CheckKeys(const json& object, const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    bool known = key == "name" || key == "gated" || key == "tied" || key == "causal";
    for (const Field& field : kFields) known |= key == field.name;
    if (!known) Throw(Code::kInvalidArgument, "{}: a model's shape has no \"{}\"; see plans.md", where, key);
  }
}

// Kinds of models by config.json's "model_type" whose tokens attend to all others.
bool IsEncoder(const json& object, const std::string& where) {
  static constexpr std::string_view kKinds[] = {"bert", "deberta", "electra", "mpnet", "xlm-roberta", "esm",
                                                "vit",  "deit",    "beit",    "t5",    "roberta"};
  const json* kind = Find(object, "model_type");
  if (kind == nullptr || !kind->is_string()) return false;
  const bool is_one = std::ranges::any_of(kKinds, [&](std::string_view each) {
    return kind->get_ref<const std::string&>().find(each) != std::string::npos;
  });
  return is_one && !Flag(object, where, "is_decoder", nullptr, false);
}

}  // namespace

ModelShape ParseModel(std::string_view text, const std::string& where) {
  const json object = [&] {
    try {
      return ParseJson(text);
    } catch (const Error& error) {
      Throw(Code::kInvalidArgument, "{}: {}", where, error.message());
    }
  }();
  if (!object.is_object()) Throw(Code::kInvalidArgument, "{}: a model's shape is a JSON object", where);
  if (Find(object, "hidden") != nullptr) CheckKeys(object, where);
  ModelShape model;
  model.name = where;
  for (const Field& field : kFields) {
    for (const char* key : {field.name, field.hugging_face}) {
      const json* value = Find(object, key);
      if (value == nullptr) continue;
      if (!value->is_number()) Throw(Code::kInvalidArgument, "{}: \"{}\" is a number", where, key);
      model.*field.number = value->get<double>();
    }
    if (field.required && model.*field.number == 0)
      Throw(Code::kInvalidArgument, "{}: \"{}\" (or \"{}\") is missing", where, field.name,
            field.hugging_face);
  }
  if (const json* name = Find(object, "name"); name != nullptr && name->is_string())
    model.name = name->get<std::string>();
  model.gated = Flag(object, where, "gated", nullptr, true);
  model.causal = Flag(object, where, "causal", nullptr, !IsEncoder(object, where));
  model.tied = Flag(object, where, "tied", "tie_word_embeddings", false);
  // Mixtral's configuration has one width, DeepSeek's numbers of shared experts.
  if (model.IsMixture() && model.expert_ffn == 0) model.expert_ffn = model.ffn;
  if (const json* shared = Find(object, "n_shared_experts"); shared != nullptr && shared->is_number())
    model.shared_ffn = shared->get<double>() * model.expert_ffn;
  try {
    CheckModel(model);
  } catch (const Error& error) {
    Throw(Code::kInvalidArgument, "{}: {}", where, error.message());
  }
  return model;
}

ModelShape ReadModel(const std::string& name_or_file) {
  constexpr size_t kMostBytes = 1 << 20;
  if (!name_or_file.ends_with(".json")) return NamedModel(name_or_file);
  return ParseModel(ReadFile(name_or_file, kMostBytes), name_or_file);
}

}  // namespace lanescope::sims::plans
