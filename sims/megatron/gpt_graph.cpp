// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/gpt_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "sims/megatron/gpt_memory.h"

namespace lanescope::sims::megatron {
namespace {

constexpr double kMostNodes = 1e6;
constexpr double kMostParameters = 1e15;
constexpr std::string_view kStandsFor = "_lanescope_stands_for";

constexpr int kParts = 5;         // of a layer
constexpr size_t kVariables = 3;  // of a GPU
constexpr std::array<const char*, kParts> kPartNames = {"qkv", "attention", "projection", "expand",
                                                        "contract"};
constexpr std::array<const char*, kParts> kPartOps = {"ColumnParallelLinear", "CoreAttention",
                                                      "RowParallelLinear", "ColumnParallelLinear",
                                                      "RowParallelLinear"};
// The passes forward whose results, and backward whose gradients, the tensor group sums.
constexpr bool SumsForward(int part) { return part == 2 || part == 4; }
constexpr bool SumsBackward(int part) { return part == 0 || part == 3; }

// The work and results of a node on each GPU of a group.
struct NodeKind {
  const char* op = "";
  double seconds = 0;
  double columns = 0;  // of what the next one reads, with a row a token
  double kept = 0;     // of what stays for the gradients, output 1; 0: there is no such
};

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
        saved_(SavedOf(model, layout)),
        origin_(GptOriginText({model, layout, schedule})),
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
    memory_ = GptMemoryByStage(model, layout, schedule);
    if (memory_.front().parameters > kMostParameters)
      Throw(Code::kInvalidArgument, "a GPU would have {:.3g} parameters; take a smaller model",
            memory_.front().parameters);
  }

  StepGraph Run() {
    last_.assign(static_cast<size_t>(ranks_ * replicas_ * stages_), {});
    forward_.assign(static_cast<size_t>(replicas_ * stages_ * micro_batches_ * ranks_), {});
    backward_ = forward_;
    kept_.assign(forward_.size() * static_cast<size_t>(layers_ * kParts), {});
    AddVariables();
    // Any order does in which a pass comes after those that it waits for: turn by turn over the stages.
    std::vector<std::vector<PipelinePass>> passes;
    for (int stage = 0; stage < stages_; ++stage)
      passes.push_back(PassesOf({schedule_, stages_, 1, micro_batches_}, stage));
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
  using Group = std::vector<NodeId>;  // a node on each GPU of a tensor group

  static std::vector<std::pair<int, size_t>> Numbered(const std::vector<size_t>& list) {
    std::vector<std::pair<int, size_t>> numbered;
    for (size_t i = 0; i < list.size(); ++i) numbered.emplace_back(static_cast<int>(i), list[i]);
    return numbered;
  }

  size_t Slot(int stage, int replica, int micro_batch) const {
    return static_cast<size_t>(((stage * replicas_ + replica) * micro_batches_ + micro_batch) * ranks_);
  }
  bool IsReady(int stage, const PipelinePass& pass) const {
    const int from = pass.is_backward() ? stage + 1 : stage - 1;
    if (from < 0 || from >= stages_) return true;
    return (pass.is_backward() ? backward_ : forward_)[Slot(from, 0, pass.micro_batch)].exists();
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

  // The place of a layer's kept part, by its first rank.
  size_t KeptSlot(int stage, int replica, int micro_batch, int layer, int part) const {
    const size_t slot = Slot(stage, replica, micro_batch) * static_cast<size_t>(layers_ * kParts);
    return slot + static_cast<size_t>((layer * kParts + part) * ranks_);
  }
  // Half-precision values a token that take so many bytes for all of them.
  double ColumnsOf(double bytes) const { return std::ceil(bytes / (2 * rows_)); }

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

  NodeId Add(const std::string& name, int gpu, const NodeKind& kind, const Reducing& group = {}) {
    Node node;
    node.op = kind.op;
    node.attrs["T"] = DataType::kHalf;
    std::vector<ShapeAttr> shapes = ShapeOf(kind.columns);
    if (kind.kept > 0) shapes.push_back(ShapeOf(kind.kept).front());
    node.attrs["_output_shapes"] = std::move(shapes);
    node.attrs["_lanescope_cost"] = CostText(kind.seconds, group);
    return AddTo(gpu, name, std::move(node));
  }
  NodeId AddTo(int gpu, const std::string& name, Node node) {
    node.name = fmt::format("gpu_{}/{}", gpu, name);
    node.device = fmt::format("/device:GPU:{}", gpu);
    if (ranks_ * replicas_ < tensor_ * data_)
      node.attrs[std::string(kStandsFor)] = static_cast<int64_t>(tensor_ * data_);
    return step_.graph.AddNode(std::move(node));
  }

  template <typename Visit>
  void ForEachGpu(Visit visit) const {
    for (int stage = 0; stage < stages_; ++stage) {
      for (int replica = 0; replica < replicas_; ++replica) {
        for (int rank = 0; rank < ranks_; ++rank) visit(stage, replica, rank);
      }
    }
  }
  // Adds each GPU's weights, their gradients, and the optimizer's state for each of them.
  void AddVariables() {
    ForEachGpu([&](int stage, int replica, int rank) {
      const auto count = static_cast<int64_t>(memory_[static_cast<size_t>(stage)].parameters);
      const auto add = [&](const char* name, DataType type, const Shape& shape) {
        Node node;
        node.op = "VariableV2";
        node.attrs["dtype"] = type;
        node.attrs["shape"] = ShapeAttr{shape, ""};
        variables_.push_back(AddTo(Gpu(stage, replica, rank), name, std::move(node)));
      };
      add("weights", DataType::kHalf, {count});
      add("gradients", DataType::kFloat, {count});
      add("optimizer", DataType::kFloat, {3, count});
    });
  }
  // A node on each GPU of a group, after what ran there before.
  Group AddGroup(int stage, int replica, const std::string& name, const NodeKind& kind, const Group& inputs,
                 const Reducing& reducing = {}) {
    Group group;
    for (int rank = 0; rank < ranks_; ++rank) {
      const NodeId id = Add(name, Gpu(stage, replica, rank), kind, reducing);
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
        AddGroup(stage, replica, name + "/all_reduce", {"AllReduce", times_.all_reduce, columns_}, inputs,
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

  // The widest part of a layer has four times the columns; of a sum every GPU has all of them.
  double WidthOf(bool widest, bool sums) const {
    return widest ? 4 * columns_ / tensor_ : sums ? columns_ : columns_ / tensor_;
  }
  // A layer of one micro-batch, which is at `kept` in kept_. All that its gradients read stays, or only what
  // the layer itself reads. Made again it starts from that, and waits for its turn alone.
  enum class Keeping { kAll, kInput, kAgain };
  Group AddLayerForward(int stage, int replica, const std::string& name, Group values, size_t kept,
                        Keeping keeping) {
    for (int part = 0; part < kParts; ++part) {
      const auto at = static_cast<size_t>(part);
      const bool sums = SumsForward(part);
      NodeKind kind{kPartOps[at], times_.forward[at], WidthOf(part == 3, sums), ColumnsOf(saved_.parts[at])};
      if (keeping == Keeping::kInput) kind.kept = part == 0 ? ColumnsOf(saved_.input) : 0;
      const std::string part_name = name + "/" + kPartNames[at];
      values = AddGroup(stage, replica, part_name, kind, values);
      const size_t place = kept + at * static_cast<size_t>(ranks_);
      if (part == 0 && keeping == Keeping::kAgain) ReadKept(values, place);
      if (kind.kept > 0)
        std::copy(values.begin(), values.end(), kept_.begin() + static_cast<ptrdiff_t>(place));
      if (sums) values = AllReduce(stage, replica, part_name, values);
    }
    return values;
  }
  Group AddLayerBackward(int stage, int replica, const std::string& name, Group values, size_t kept) {
    for (int part = kParts - 1; part >= 0; --part) {
      const auto at = static_cast<size_t>(part);
      const bool sums = SumsBackward(part);
      const std::string part_name = name + "/" + kPartNames[at] + "_grad";
      values = AddGroup(stage, replica, part_name,
                        {kPartOps[at], times_.backward[at], WidthOf(part == 4, sums)}, values);
      ReadKept(values, kept + at * static_cast<size_t>(ranks_));
      if (sums) values = AllReduce(stage, replica, part_name, values);
    }
    return values;
  }
  void ReadKept(const Group& readers, size_t place) {
    for (size_t rank = 0; rank < readers.size(); ++rank)
      step_.graph.node(readers[rank]).inputs.push_back({kept_[place + rank], 1});
  }

  // Sends a part from each GPU of the tensor group to another stage.
  void SendParts(const Group& values) {
    const ShapeAttr part = ShapeOf(std::max(1.0, columns_ / tensor_)).front();
    for (const NodeId id : values)
      std::get<std::vector<ShapeAttr>>(step_.graph.node(id).attrs["_output_shapes"]).front() = part;
  }

  void AddPass(int stage, int replica, const PipelinePass& pass) {
    const int m = pass.micro_batch;
    const auto layer_name = [&](int layer, const char* kind) {
      return fmt::format("micro_{}/layer_{}{}", m, stage * layers_ + layer, kind);
    };
    Group values;
    if (!pass.is_backward()) {
      if (stage > 0) values = Ends(forward_, stage - 1, replica, m);
      if (stage == 0) {
        values = AddGroup(stage, replica, fmt::format("micro_{}/embedding", m),
                          {"VocabParallelEmbedding", times_.embedding, columns_}, {});
      }
      for (int layer = 0; layer < layers_; ++layer) {
        values = AddLayerForward(stage, replica, layer_name(layer, ""), values,
                                 KeptSlot(stage, replica, m, layer, 0),
                                 recompute_ ? Keeping::kInput : Keeping::kAll);
      }
      if (stage == stages_ - 1) {
        // The logits' gradients are made with them: nothing of them stays.
        const double logits = ColumnsOf(memory_.back().logits);
        values = AddGroup(stage, replica, fmt::format("micro_{}/head", m),
                          {"VocabParallelHead", times_.head, columns_, logits}, values);
      }
      if (stage < stages_ - 1) SendParts(values);
      std::copy(values.begin(), values.end(),
                forward_.begin() + static_cast<ptrdiff_t>(Slot(stage, replica, m)));
      return;
    }
    values = Ends(stage == stages_ - 1 ? forward_ : backward_, stage == stages_ - 1 ? stage : stage + 1,
                  replica, m);
    for (int layer = layers_ - 1; layer >= 0; --layer) {
      const size_t kept = KeptSlot(stage, replica, m, layer, 0);
      if (recompute_) AddLayerForward(stage, replica, layer_name(layer, "/again"), {}, kept, Keeping::kAgain);
      values = AddLayerBackward(stage, replica, layer_name(layer, ""), values, kept);
    }
    if (stage > 0) SendParts(values);
    std::copy(values.begin(), values.end(),
              backward_.begin() + static_cast<ptrdiff_t>(Slot(stage, replica, m)));
  }

  // Gradients over replicas, those of the tied embedding over both ends, and the optimizer.
  void AddUpdates() {
    std::vector<NodeId> reduced = last_;
    ForEachGpu([&](int stage, int replica, int rank) {
      if (data_ == 1) return;
      const NodeId id =
          Add("gradients/all_reduce", Gpu(stage, replica, rank), {"AllReduce", times_.replicas, columns_},
              {times_.replica_bytes, 0, Gpu(stage, 0, rank), data_, tensor_});
      for (int other = 0; other < replicas_; ++other)
        step_.graph.node(id).control_inputs.push_back(last_[Shown(stage, other, rank)]);
      reduced[Shown(stage, replica, rank)] = id;
    });
    const std::vector<NodeId> own = reduced;
    ForEachGpu([&](int stage, int replica, int rank) {
      if (stages_ == 1 || (stage != 0 && stage != stages_ - 1)) return;
      const int other = stage == 0 ? stages_ - 1 : 0;
      const int distance = (stages_ - 1) * data_ * tensor_;
      const NodeId id = Add("gradients/embedding/all_reduce", Gpu(stage, replica, rank),
                            {"AllReduce", times_.tied, columns_},
                            {times_.tied_bytes, 0, Gpu(0, replica, rank), 2, distance});
      step_.graph.node(id).control_inputs = {own[Shown(stage, replica, rank)],
                                             own[Shown(other, replica, rank)]};
      reduced[Shown(stage, replica, rank)] = id;
    });
    Node train;
    train.name = "train";
    train.op = "NoOp";
    ForEachGpu([&](int stage, int replica, int rank) {
      const NodeId id = Add("adam", Gpu(stage, replica, rank), {"FusedAdam", times_.update, columns_});
      const size_t variable = kVariables * Shown(stage, replica, rank);
      for (size_t v = 0; v < kVariables; ++v)
        step_.graph.node(id).inputs.push_back({variables_[variable + v], 0});
      step_.graph.node(id).control_inputs.push_back(reduced[Shown(stage, replica, rank)]);
      train.control_inputs.push_back(id);
    });
    train.attrs[std::string(kGptOriginAttr)] = origin_;
    step_.graph.AddNode(std::move(train));
    step_.spec.targets = {"train"};
  }

  const GptTimes times_;
  const SavedActivations saved_;
  std::vector<GptMemory> memory_;  // by stage
  const std::string origin_;
  const PipelineSchedule schedule_;
  const int tensor_, data_, stages_;
  const int ranks_, replicas_;  // that are written, of tensor_ and data_
  const int layers_, micro_batches_;
  const bool recompute_;
  const double columns_, rows_;
  std::vector<NodeId> last_;                // by GPU: the node that it runs last
  std::vector<NodeId> forward_, backward_;  // by Slot and rank: the last node of a pass, none not yet
  // By KeptSlot and rank: what a part of a layer keeps, or made last, for its gradients.
  std::vector<NodeId> kept_;
  std::vector<NodeId> variables_;  // by GPU: kVariables each
  StepGraph step_;
};

}  // namespace

StepGraph WriteGptStep(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule,
                       const MegatronRules& rules, bool folded) {
  return GptWriter(model, layout, schedule, rules, folded).Run();
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
