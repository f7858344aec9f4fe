#include "sims/megatron/gpt_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/error.h"

namespace lanescope::sims::megatron {
namespace {

constexpr double kMostNodes = 1e6;
constexpr int kParts = 5;  // of a layer
constexpr std::array<const char*, kParts> kPartNames = {"qkv", "attention", "projection", "expand",
                                                        "contract"};
constexpr std::array<const char*, kParts> kPartOps = {"ColumnParallelLinear", "CoreAttention",
                                                      "RowParallelLinear", "ColumnParallelLinear",
                                                      "RowParallelLinear"};
// The passes forward whose results, and backward whose gradients, the tensor group sums.
constexpr bool SumsForward(int part) { return part == 2 || part == 4; }
constexpr bool SumsBackward(int part) { return part == 0 || part == 3; }

class GptWriter {
 public:
  GptWriter(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule,
            const MegatronRules& rules)
      : times_(TimesOf(model, layout, rules)),
        schedule_(schedule),
        tensor_(static_cast<int>(layout.tensor)),
        data_(static_cast<int>(layout.data)),
        stages_(static_cast<int>(layout.pipeline)),
        layers_(static_cast<int>(model.layers / layout.pipeline)),
        micro_batches_(static_cast<int>(layout.micro_batches())),
        recompute_(layout.recompute),
        columns_(model.hidden),
        rows_(layout.micro_batch * model.sequence) {
    const double nodes = layout.gpus() * layout.micro_batches() * layers_ * 2 * (kParts + 2);
    if (nodes > kMostNodes) {
      Throw(Code::kInvalidArgument,
            "the step would have {:.0f} nodes; a million is the most, so take fewer GPUs, layers or "
            "micro-batches",
            nodes);
    }
  }

  StepGraph Run() {
    last_.assign(static_cast<size_t>(tensor_ * data_ * stages_), -1);
    forward_.assign(static_cast<size_t>(data_ * stages_ * micro_batches_ * tensor_), -1);
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
          for (int replica = 0; replica < data_; ++replica)
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
  using Group = std::vector<int>;  // a node on each GPU of a tensor group

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
    return static_cast<size_t>(((stage * data_ + replica) * micro_batches_ + micro_batch) * tensor_);
  }
  bool IsReady(int stage, const Pass& pass) const {
    const int from = pass.backward ? stage + 1 : stage - 1;
    if (from < 0 || from >= stages_) return true;
    return (pass.backward ? backward_ : forward_)[Slot(from, 0, pass.micro_batch)] >= 0;
  }
  Group Ends(const std::vector<int>& of, int stage, int replica, int micro_batch) const {
    const auto begin = of.begin() + static_cast<ptrdiff_t>(Slot(stage, replica, micro_batch));
    return Group(begin, begin + tensor_);
  }

  int Gpu(int stage, int replica, int rank) const { return (stage * data_ + replica) * tensor_ + rank; }

  int Add(const std::string& name, const char* op, int gpu, double seconds, double columns) {
    Node node;
    node.name = fmt::format("gpu_{}/{}", gpu, name);
    node.op = op;
    node.device = fmt::format("/device:GPU:{}", gpu);
    node.attrs["T"] = DataType::kHalf;
    node.attrs["_output_shapes"] =
        std::vector<ShapeAttr>{{Shape{static_cast<int64_t>(rows_), static_cast<int64_t>(columns)}, ""}};
    node.attrs["_lanescope_cost"] = fmt::format(R"({{"ns": {{"GPU": {:.0f}}}}})", seconds * 1e9);
    return step_.graph.AddNode(std::move(node));
  }
  // A node on each GPU of a group, after what ran there before.
  Group AddGroup(int stage, int replica, const std::string& name, const char* op, double seconds,
                 double columns, const Group& inputs) {
    Group group;
    for (int rank = 0; rank < tensor_; ++rank) {
      const int gpu = Gpu(stage, replica, rank);
      const int id = Add(name, op, gpu, seconds, columns);
      Node& node = step_.graph.node(id);
      const int input = inputs.empty() ? -1 : inputs[static_cast<size_t>(rank)];
      if (input >= 0) node.inputs.push_back({input, 0});
      int& last = last_[static_cast<size_t>(gpu)];
      if (last >= 0 && last != input) node.control_inputs.push_back(last);
      last = id;
      group.push_back(id);
    }
    return group;
  }
  Group AllReduce(int stage, int replica, const std::string& name, const Group& inputs) {
    if (tensor_ == 1) return inputs;
    const Group group =
        AddGroup(stage, replica, name + "/all_reduce", "AllReduce", times_.all_reduce, columns_, inputs);
    for (int rank = 0; rank < tensor_; ++rank) {
      for (int other = 0; other < tensor_; ++other) {
        if (other != rank)
          step_.graph.node(group[static_cast<size_t>(rank)])
              .control_inputs.push_back(inputs[static_cast<size_t>(other)]);
      }
    }
    return group;
  }

  Group AddLayerForward(int stage, int replica, const std::string& name, Group values) {
    for (int part = 0; part < kParts; ++part) {
      const std::string part_name = name + "/" + kPartNames[static_cast<size_t>(part)];
      const double width = part == 3           ? 4 * columns_ / tensor_
                           : SumsForward(part) ? columns_
                                               : columns_ / tensor_;
      values = AddGroup(stage, replica, part_name, kPartOps[static_cast<size_t>(part)],
                        times_.forward[static_cast<size_t>(part)], width, values);
      if (SumsForward(part)) values = AllReduce(stage, replica, part_name, values);
    }
    return values;
  }
  Group AddLayerBackward(int stage, int replica, const std::string& name, Group values) {
    for (int part = kParts - 1; part >= 0; --part) {
      const std::string part_name = name + "/" + kPartNames[static_cast<size_t>(part)] + "_grad";
      const double width = part == 4            ? 4 * columns_ / tensor_
                           : SumsBackward(part) ? columns_
                                                : columns_ / tensor_;
      values = AddGroup(stage, replica, part_name, kPartOps[static_cast<size_t>(part)],
                        times_.backward[static_cast<size_t>(part)], width, values);
      if (SumsBackward(part)) values = AllReduce(stage, replica, part_name, values);
    }
    return values;
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
    std::copy(values.begin(), values.end(),
              backward_.begin() + static_cast<ptrdiff_t>(Slot(stage, replica, m)));
  }

  // Gradients over replicas, those of the tied embedding over both ends, and the optimizer.
  void AddUpdates() {
    const std::vector<int> done = last_;
    std::vector<int> reduced = done;
    for (int gpu = 0; gpu < static_cast<int>(done.size()); ++gpu) {
      if (data_ == 1) break;
      const int id = Add("gradients/all_reduce", "AllReduce", gpu, times_.replicas, columns_);
      for (int replica = 0; replica < data_; ++replica) {
        const int other = Gpu(gpu / (tensor_ * data_), replica, gpu % tensor_);
        step_.graph.node(id).control_inputs.push_back(done[static_cast<size_t>(other)]);
      }
      reduced[static_cast<size_t>(gpu)] = id;
    }
    const int per_stage = tensor_ * data_;
    const std::vector<int> own = reduced;
    for (int gpu = 0; gpu < static_cast<int>(done.size()); ++gpu) {
      const int stage = gpu / per_stage;
      if (stages_ == 1 || (stage != 0 && stage != stages_ - 1)) continue;
      const int other = (stage == 0 ? stages_ - 1 : 0) * per_stage + gpu % per_stage;
      const int id = Add("gradients/embedding/all_reduce", "AllReduce", gpu, times_.tied, columns_);
      step_.graph.node(id).control_inputs = {own[static_cast<size_t>(gpu)], own[static_cast<size_t>(other)]};
      reduced[static_cast<size_t>(gpu)] = id;
    }
    Node train;
    train.name = "train";
    train.op = "NoOp";
    for (int gpu = 0; gpu < static_cast<int>(done.size()); ++gpu) {
      const int id = Add("adam", "FusedAdam", gpu, times_.update, columns_);
      step_.graph.node(id).control_inputs.push_back(reduced[static_cast<size_t>(gpu)]);
      train.control_inputs.push_back(id);
    }
    step_.graph.AddNode(std::move(train));
    step_.spec.targets = {"train"};
  }

  const GptTimes times_;
  const PipelineSchedule schedule_;
  const int tensor_, data_, stages_, layers_, micro_batches_;
  const bool recompute_;
  const double columns_, rows_;
  std::vector<int> last_;                // by GPU: the node that it runs last
  std::vector<int> forward_, backward_;  // by Slot and rank: the last node of a pass, -1 not yet
  StepGraph step_;
};

}  // namespace

StepGraph WriteGptStep(const GptModel& model, const GptLayout& layout, PipelineSchedule schedule,
                       const MegatronRules& rules) {
  return GptWriter(model, layout, schedule, rules).Run();
}

}  // namespace lanescope::sims::megatron
