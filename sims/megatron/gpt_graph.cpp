#include "sims/megatron/gpt_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/error.h"

namespace lanescope::sims::megatron {
namespace {

constexpr double kMostNodes = 1e6;
constexpr std::string_view kStandsFor = "_lanescope_stands_for";
constexpr std::string_view kMadeAs = "_lanescope_gpt";  // of the node that a step runs

// The numbers of a model and its layout by name, for both ways.
std::vector<std::pair<const char*, double*>> NumbersOf(GptOrigin* origin) {
  GptModel& model = origin->model;
  GptLayout& layout = origin->layout;
  return {{"layers", &model.layers},
          {"hidden", &model.hidden},
          {"heads", &model.heads},
          {"sequence", &model.sequence},
          {"vocabulary", &model.vocabulary},
          {"batch", &layout.batch},
          {"micro_batch", &layout.micro_batch},
          {"tensor", &layout.tensor},
          {"data", &layout.data},
          {"pipeline", &layout.pipeline}};
}

std::string TextOf(GptOrigin origin) {
  nlohmann::ordered_json json;
  for (const auto& [name, number] : NumbersOf(&origin)) json[name] = static_cast<int64_t>(*number);
  json["recompute"] = origin.layout.recompute;
  json["schedule"] = origin.schedule == PipelineSchedule::kGPipe ? "gpipe" : "1f1b";
  return json.dump();
}
constexpr int kParts = 5;  // of a layer
constexpr std::array<const char*, kParts> kPartNames = {"qkv", "attention", "projection", "expand",
                                                        "contract"};
constexpr std::array<const char*, kParts> kPartOps = {"ColumnParallelLinear", "CoreAttention",
                                                      "RowParallelLinear", "ColumnParallelLinear",
                                                      "RowParallelLinear"};
// The passes forward whose results, and backward whose gradients, the tensor group sums.
constexpr bool SumsForward(int part) { return part == 2 || part == 4; }
constexpr bool SumsBackward(int part) { return part == 0 || part == 3; }

// GPUs that sum `bytes` of each, and how long the last of them lets the others wait. None: no collective.
struct Reducing {
  double bytes = 0, wait = 0;
  int first = 0, count = 0, stride = 1;
};

class GptWriter {
 public:
  GptWriter(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule,
            const MegatronRules& rules, bool folded)
      : times_(TimesOf(model, layout, rules)),
        origin_(TextOf({model, layout, schedule})),
        schedule_(schedule),
        tensor_(static_cast<int>(layout.tensor)),
        data_(static_cast<int>(layout.data)),
        stages_(static_cast<int>(layout.pipeline)),
        ranks_(folded ? 1 : tensor_),
        replicas_(folded ? 1 : data_),
        layers_(static_cast<int>(model.layers / layout.pipeline)),
        micro_batches_(static_cast<int>(layout.micro_batches())),
        recompute_(layout.recompute),
        columns_(model.hidden),
        rows_(layout.micro_batch * model.sequence) {
    const double nodes = NodesOfGptStep(model, layout, folded);
    if (nodes > kMostNodes) {
      Throw(Code::kInvalidArgument,
            "the step would have {:.0f} nodes; a million is the most, so take fewer GPUs, layers or "
            "micro-batches{}",
            nodes, folded ? "" : ", or fold GPUs that do the same");
    }
  }

  StepGraph Run() {
    last_.assign(static_cast<size_t>(ranks_ * replicas_ * stages_), {});
    forward_.assign(static_cast<size_t>(replicas_ * stages_ * micro_batches_ * ranks_), {});
    backward_ = forward_;
    // Any order does in which a pass comes after those that it waits for: turn by turn over the stages.
    std::vector<std::vector<Pass>> passes;
    for (int stage = 0; stage < stages_; ++stage) passes.push_back(PassesOf(stage));
    std::vector<size_t> next(passes.size(), 0);
    for (bool more = true; more;) {
      more = false;
      for (int stage = 0; stage < stages_; ++stage) {
        size_t& at = next[static_cast<size_t>(stage)];
        while (at < passes[static_cast<size_t>(stage)].size() &&
               IsReady(stage, passes[static_cast<size_t>(stage)][at])) {
          for (int replica = 0; replica < replicas_; ++replica)
            AddPass(stage, replica, passes[static_cast<size_t>(stage)][at]);
          ++at;
          more = true;
        }
      }
    }
    for (const auto& [stage, at] : Numbered(next))
      LANESCOPE_CHECK(at == passes[static_cast<size_t>(stage)].size());
    AddUpdates();
    return std::move(step_);
  }

 private:
  struct Pass {
    bool backward = false;
    int micro_batch = 0;
  };
  using Group = std::vector<NodeId>;  // a node on each GPU of a tensor group

  static std::vector<std::pair<int, size_t>> Numbered(const std::vector<size_t>& list) {
    std::vector<std::pair<int, size_t>> numbered;
    for (size_t i = 0; i < list.size(); ++i) numbered.emplace_back(static_cast<int>(i), list[i]);
    return numbered;
  }

  // In which order a stage takes them.
  std::vector<Pass> PassesOf(int stage) const {
    const int ahead =
        schedule_ == PipelineSchedule::kGPipe ? micro_batches_ : std::min(micro_batches_, stages_ - stage);
    std::vector<Pass> passes;
    for (int m = 0; m < ahead; ++m) passes.push_back({false, m});
    for (int m = 0; m < micro_batches_; ++m) {
      passes.push_back({true, m});
      if (m + ahead < micro_batches_) passes.push_back({false, m + ahead});
    }
    return passes;
  }

  size_t Slot(int stage, int replica, int micro_batch) const {
    return static_cast<size_t>(((stage * replicas_ + replica) * micro_batches_ + micro_batch) * ranks_);
  }
  bool IsReady(int stage, const Pass& pass) const {
    const int from = pass.backward ? stage + 1 : stage - 1;
    if (from < 0 || from >= stages_) return true;
    return (pass.backward ? backward_ : forward_)[Slot(from, 0, pass.micro_batch)].exists();
  }
  Group Ends(const std::vector<NodeId>& of, int stage, int replica, int micro_batch) const {
    const auto begin = of.begin() + static_cast<ptrdiff_t>(Slot(stage, replica, micro_batch));
    return Group(begin, begin + ranks_);
  }

  int Gpu(int stage, int replica, int rank) const { return (stage * data_ + replica) * tensor_ + rank; }
  // Where last_ has it.
  size_t Shown(int stage, int replica, int rank) const {
    return static_cast<size_t>((stage * replicas_ + replica) * ranks_ + rank);
  }

  static std::string CostText(double seconds, const Reducing& group) {
    const std::string ns = fmt::format(R"("ns": {{"GPU": {:.0f}}})", seconds * 1e9);
    if (group.count == 0) return "{" + ns + "}";
    return fmt::format(
        R"({{{}, "collective": {{"kind": "all-reduce", "bytes": {:.0f}, "wait_ns": {:.0f}, "gpus": [{}, {}, {}]}}}})",
        ns, group.bytes, group.wait * 1e9, group.first, group.count, group.stride);
  }
  std::vector<ShapeAttr> ShapeOf(double columns) const {
    return {{Shape{static_cast<int64_t>(rows_), static_cast<int64_t>(columns)}, ""}};
  }

  NodeId Add(const std::string& name, const char* op, int gpu, double seconds, double columns,
             const Reducing& group = {}) {
    Node node;
    node.name = fmt::format("gpu_{}/{}", gpu, name);
    node.op = op;
    node.device = fmt::format("/device:GPU:{}", gpu);
    node.attrs["T"] = DataType::kHalf;
    node.attrs["_output_shapes"] = ShapeOf(columns);
    node.attrs["_lanescope_cost"] = CostText(seconds, group);
    if (ranks_ * replicas_ < tensor_ * data_)
      node.attrs[std::string(kStandsFor)] = static_cast<int64_t>(tensor_ * data_);
    return step_.graph.AddNode(std::move(node));
  }
  // A node on each GPU of a group, after what ran there before.
  Group AddGroup(int stage, int replica, const std::string& name, const char* op, double seconds,
                 double columns, const Group& inputs, const Reducing& reducing = {}) {
    Group group;
    for (int rank = 0; rank < ranks_; ++rank) {
      const NodeId id = Add(name, op, Gpu(stage, replica, rank), seconds, columns, reducing);
      Node& node = step_.graph.node(id);
      const NodeId input = inputs.empty() ? NodeId() : inputs[static_cast<size_t>(rank)];
      if (input.exists()) node.inputs.push_back({input, 0});
      NodeId& last = last_[Shown(stage, replica, rank)];
      if (last.exists() && last != input) node.control_inputs.push_back(last);
      last = id;
      group.push_back(id);
    }
    return group;
  }
  Group AllReduce(int stage, int replica, const std::string& name, const Group& inputs) {
    if (tensor_ == 1) return inputs;
    const Group group =
        AddGroup(stage, replica, name + "/all_reduce", "AllReduce", times_.all_reduce, columns_, inputs,
                 {times_.all_reduce_bytes, times_.arrival, Gpu(stage, replica, 0), tensor_, 1});
    for (int rank = 0; rank < ranks_; ++rank) {
      for (int other = 0; other < ranks_; ++other) {
        if (other != rank)
          step_.graph.node(group[static_cast<size_t>(rank)])
              .control_inputs.push_back(inputs[static_cast<size_t>(other)]);
      }
    }
    return group;
  }

  // One part of a layer. The widest has four times the columns; of a sum every GPU has all of them.
  Group AddPart(int stage, int replica, const std::string& name, int part, double time, bool widest,
                bool sums, const Group& inputs) {
    const double width = widest ? 4 * columns_ / tensor_ : sums ? columns_ : columns_ / tensor_;
    const Group values =
        AddGroup(stage, replica, name, kPartOps[static_cast<size_t>(part)], time, width, inputs);
    return sums ? AllReduce(stage, replica, name, values) : values;
  }
  Group AddLayerForward(int stage, int replica, const std::string& name, Group values) {
    for (int part = 0; part < kParts; ++part) {
      const auto at = static_cast<size_t>(part);
      values = AddPart(stage, replica, name + "/" + kPartNames[at], part, times_.forward[at], part == 3,
                       SumsForward(part), values);
    }
    return values;
  }
  Group AddLayerBackward(int stage, int replica, const std::string& name, Group values) {
    for (int part = kParts - 1; part >= 0; --part) {
      const auto at = static_cast<size_t>(part);
      values = AddPart(stage, replica, name + "/" + kPartNames[at] + "_grad", part, times_.backward[at],
                       part == 4, SumsBackward(part), values);
    }
    return values;
  }

  // What goes to another stage: a part from each GPU of the tensor group.
  void SendParts(const Group& values) {
    for (const NodeId id : values)
      step_.graph.node(id).attrs["_output_shapes"] = ShapeOf(std::max(1.0, columns_ / tensor_));
  }

  void AddPass(int stage, int replica, const Pass& pass) {
    const int m = pass.micro_batch;
    const auto layer_name = [&](int layer, const char* kind) {
      return fmt::format("micro_{}/layer_{}{}", m, stage * layers_ + layer, kind);
    };
    Group values;
    if (!pass.backward) {
      if (stage > 0) values = Ends(forward_, stage - 1, replica, m);
      if (stage == 0) {
        values = AddGroup(stage, replica, fmt::format("micro_{}/embedding", m), "VocabParallelEmbedding",
                          times_.embedding, columns_, {});
      }
      for (int layer = 0; layer < layers_; ++layer)
        values = AddLayerForward(stage, replica, layer_name(layer, ""), values);
      if (stage == stages_ - 1) {
        values = AddGroup(stage, replica, fmt::format("micro_{}/head", m), "VocabParallelHead", times_.head,
                          columns_, values);
      }
      if (stage < stages_ - 1) SendParts(values);
      std::copy(values.begin(), values.end(),
                forward_.begin() + static_cast<ptrdiff_t>(Slot(stage, replica, m)));
      return;
    }
    values = Ends(stage == stages_ - 1 ? forward_ : backward_, stage == stages_ - 1 ? stage : stage + 1,
                  replica, m);
    for (int layer = layers_ - 1; layer >= 0; --layer) {
      if (recompute_) {
        // From what the layer read, which is there; it waits for its turn alone.
        AddLayerForward(stage, replica, layer_name(layer, "/again"), {});
      }
      values = AddLayerBackward(stage, replica, layer_name(layer, ""), values);
    }
    if (stage > 0) SendParts(values);
    std::copy(values.begin(), values.end(),
              backward_.begin() + static_cast<ptrdiff_t>(Slot(stage, replica, m)));
  }

  // Gradients over replicas, those of the tied embedding over both ends, and the optimizer.
  void AddUpdates() {
    std::vector<NodeId> reduced = last_;
    const auto for_each_gpu = [&](const auto& visit) {
      for (int stage = 0; stage < stages_; ++stage) {
        for (int replica = 0; replica < replicas_; ++replica) {
          for (int rank = 0; rank < ranks_; ++rank) visit(stage, replica, rank);
        }
      }
    };
    for_each_gpu([&](int stage, int replica, int rank) {
      if (data_ == 1) return;
      const NodeId id = Add("gradients/all_reduce", "AllReduce", Gpu(stage, replica, rank), times_.replicas,
                            columns_, {times_.replica_bytes, 0, Gpu(stage, 0, rank), data_, tensor_});
      for (int other = 0; other < replicas_; ++other)
        step_.graph.node(id).control_inputs.push_back(last_[Shown(stage, other, rank)]);
      reduced[Shown(stage, replica, rank)] = id;
    });
    const std::vector<NodeId> own = reduced;
    for_each_gpu([&](int stage, int replica, int rank) {
      if (stages_ == 1 || (stage != 0 && stage != stages_ - 1)) return;
      const int other = stage == 0 ? stages_ - 1 : 0;
      const int distance = (stages_ - 1) * data_ * tensor_;
      const NodeId id =
          Add("gradients/embedding/all_reduce", "AllReduce", Gpu(stage, replica, rank), times_.tied, columns_,
              {times_.tied_bytes, 0, Gpu(0, replica, rank), 2, distance});
      step_.graph.node(id).control_inputs = {own[Shown(stage, replica, rank)],
                                             own[Shown(other, replica, rank)]};
      reduced[Shown(stage, replica, rank)] = id;
    });
    Node train;
    train.name = "train";
    train.op = "NoOp";
    for_each_gpu([&](int stage, int replica, int rank) {
      const NodeId id = Add("adam", "FusedAdam", Gpu(stage, replica, rank), times_.update, columns_);
      step_.graph.node(id).control_inputs.push_back(reduced[Shown(stage, replica, rank)]);
      train.control_inputs.push_back(id);
    });
    train.attrs[std::string(kMadeAs)] = origin_;
    step_.graph.AddNode(std::move(train));
    step_.spec.targets = {"train"};
  }

  const GptTimes times_;
  const std::string origin_;
  const PipelineSchedule schedule_;
  const int tensor_, data_, stages_;
  const int ranks_, replicas_;  // that are written, of tensor_ and data_
  const int layers_, micro_batches_;
  const bool recompute_;
  const double columns_, rows_;
  std::vector<NodeId> last_;                // by GPU: the node that it runs last
  std::vector<NodeId> forward_, backward_;  // by Slot and rank: the last node of a pass, none not yet
  StepGraph step_;
};

}  // namespace

StepGraph WriteGptStep(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule,
                       const MegatronRules& rules, bool folded) {
  return GptWriter(model, layout, schedule, rules, folded).Run();
}

std::optional<GptOrigin> OriginOf(const Graph& graph) {
  const NodeId train = graph.FindNode("train");
  const AttrValue* attr = !train.exists() ? nullptr : graph.node(train).FindAttr(kMadeAs);
  const auto* text = attr == nullptr ? nullptr : std::get_if<std::string>(attr);
  if (text == nullptr) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  GptOrigin origin;
  for (const auto& [name, number] : NumbersOf(&origin)) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    if (found == json.end() || !found->is_number()) {
      Throw(Code::kInvalidArgument,
            "node 'train': attribute '{}' has no number '{}'; it is written by make gpt", kMadeAs, name);
    }
    *number = found->get<double>();
  }
  origin.layout.recompute = json.value("recompute", nlohmann::json()) == true;
  const bool gpipe = json.value("schedule", nlohmann::json()) == "gpipe";
  origin.schedule = gpipe ? PipelineSchedule::kGPipe : PipelineSchedule::k1F1B;
  return origin;
}

int64_t StandsFor(const Graph& graph) {
  int64_t most = 1;
  for (const Node& node : graph.nodes()) {
    const AttrValue* attr = node.FindAttr(kStandsFor);
    const auto* count = attr == nullptr ? nullptr : std::get_if<int64_t>(attr);
    if (count != nullptr) most = std::max(most, *count);
  }
  return most;
}

double NodesOfGptStep(const GptModel& model, const GptLayout& layout, bool folded) {
  const double per_stage = folded ? 1 : layout.tensor * layout.data;
  return per_stage * layout.micro_batches() * model.layers * 2 * (kParts + 2);
}

}  // namespace lanescope::sims::megatron
