// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/memory_check.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/graph/op.h"
#include "core/schedule/fusion.h"
#include "core/schedule/row_products.h"

namespace lanescope {
namespace {

// The bytes between two neighbouring borders of an arena: what they hold, and who has read that.
struct Piece {
  ValueId value;  // the root that they belong to
  CommandId writer;
  std::vector<CommandId> readers;
};

class MemoryReplay {
 public:
  MemoryReplay(const Graph& graph, const Schedule& schedule, OrderClaims* claims)
      : graph_(graph), schedule_(schedule), claims_(*claims), arenas_(schedule.arena_bytes.size()) {}

  void Run() {
    CheckExtents();
    for (Arena& arena : arenas_) arena.Prepare();
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& command = schedule_.commands[c];
      for (const ValueId input : schedule_.Inputs(command)) {
        if (input.exists()) Read(c, input);
      }
      for (const ValueId output : schedule_.Outputs(command)) Write(c, output);
    }
    // The caller takes them when all is done.
    for (const ValueId fetch : schedule_.fetches)
      ForPieces(fetch, [&](Piece* piece) { Holds(*piece, fetch); });
  }

 private:
  struct Arena {
    std::vector<int64_t> borders;
    std::vector<Piece> pieces;  // piece i begins at border i
    void Prepare() {
      std::sort(borders.begin(), borders.end());
      borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
      pieces.resize(borders.size());
    }
    size_t IndexOf(int64_t border) const {
      return static_cast<size_t>(std::lower_bound(borders.begin(), borders.end(), border) - borders.begin());
    }
  };

  const Value& value(ValueId v) const { return schedule_.values[v]; }
  const Buffer& BufferOf(const Value& v) const { return schedule_.buffers[static_cast<size_t>(v.buffer)]; }
  bool InArena(ValueId v) const {
    return schedule_.RootValue(v).storage == Storage::kPlanned && !BufferOf(value(v)).strings;
  }
  [[noreturn]] void Broken(const std::string& law, const Value& v) const {
    Throw(Code::kInternal, "schedule is wrong: {}: '{}'", law, graph_.TensorName(v.source));
  }

  // Every value lies inside its memory, an alias in that of its root; strings share with nobody.
  void CheckExtents() {
    std::vector<char> taken(schedule_.buffers.size(), 0);
    for (const ValueId id : schedule_.values.ids()) {
      const Value& v = schedule_.values[id];
      const Value& root = schedule_.RootValue(id);
      if (root.alias_of.exists()) Broken("an alias of an alias", v);
      if (v.buffer != root.buffer || v.device != root.device)
        Broken("an alias outside the memory of what it shares", v);
      if (root.storage != Storage::kPlanned) continue;
      if (v.buffer < 0 || static_cast<size_t>(v.buffer) >= schedule_.buffers.size())
        Broken("a planned value has no memory", v);
      const Buffer& buffer = BufferOf(v);
      if (buffer.device != v.device || buffer.bytes < v.bytes || buffer.offset < 0)
        Broken("its memory is too small or elsewhere", v);
      if (buffer.strings) {
        if (!v.alias_of.exists() && std::exchange(taken[static_cast<size_t>(v.buffer)], 1))
          Broken("strings share their memory", v);
        continue;
      }
      if (buffer.bytes > schedule_.arena_bytes[v.device] - buffer.offset)
        Broken("its memory is outside the arena", v);
      auto& borders = arenas_[v.device].borders;
      borders.insert(borders.end(), {buffer.offset, buffer.offset + v.bytes});
    }
  }

  template <typename Visit>
  void ForPieces(ValueId v, Visit visit) {
    const Value& accessed = value(v);
    if (!InArena(v) || accessed.bytes == 0) return;
    const int64_t begin = BufferOf(accessed).offset;
    Arena& arena = arenas_[accessed.device];
    const size_t end = arena.IndexOf(begin + accessed.bytes);
    for (size_t i = arena.IndexOf(begin); i < end; ++i) visit(&arena.pieces[i]);
  }

  void Holds(const Piece& piece, ValueId v) const {
    if (!piece.value.exists()) Broken("a value is read that nothing writes", value(v));
    if (piece.value != schedule_.Root(v)) {
      Broken(fmt::format("memory is reused by '{}' while it is in use",
                         graph_.TensorName(value(piece.value).source)),
             value(v));
    }
  }

  void Read(CommandId command, ValueId v) {
    ForPieces(v, [&](Piece* piece) {
      Holds(*piece, v);
      claims_.Claim(piece->writer, command, "memory is read while it is written");
      if (piece->readers.empty() || piece->readers.back() != command) piece->readers.push_back(command);
    });
  }

  void Write(CommandId command, ValueId v) {
    const Storage storage = schedule_.RootValue(v).storage;
    if (storage == Storage::kConstant || storage == Storage::kFeed)
      Broken("a constant or fed value is written", value(v));
    ForPieces(v, [&](Piece* piece) {
      if (piece->writer == command) Broken("two outputs of one command share memory", value(v));
      if (piece->writer.exists()) claims_.Claim(piece->writer, command, "memory is written twice at once");
      for (const CommandId reader : piece->readers) {
        if (reader == command && !MayOverwrite(command, piece->value, v))
          Broken("a command overwrites what it reads", value(v));
        claims_.Claim(reader, command, "memory is reused while it is in use");
      }
      *piece = {schedule_.Root(v), command, {}};
    });
  }

  // An element-wise op may write its first output to an input of the same type and shape: element by element.
  bool MayOverwrite(CommandId number, ValueId root, ValueId output) const {
    const Command& command = schedule_.commands[number];
    if (command.fused >= 0) return MayOverwriteInBlocks(command, root, output);
    if (command.kind != CommandKind::kLaunch || schedule_.Outputs(command)[0] != output) return false;
    const OpDef* def = OpRegistry::Global().Find(graph_.node(command.node).op);
    if (def == nullptr || !def->in_place) return false;
    const Value& written = value(output);
    const auto inputs = schedule_.Inputs(command);
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      if (!input.exists() || schedule_.Root(input) != root) return true;
      const Value& read = value(input);
      return BufferOf(read).offset == BufferOf(written).offset && read.dtype == written.dtype &&
             read.shape == written.shape && written.shape.IsExact();
    });
  }

  // In a launch of several nodes every one that reads the memory comes before the one that writes it, or is
  // it, works on the same blocks, and reads the element that is written.
  bool MayOverwriteInBlocks(const Command& command, ValueId root, ValueId output) const {
    const auto nodes = schedule_.FusedNodes(command);
    const auto inputs = schedule_.Inputs(command), outputs = schedule_.Outputs(command);
    const std::vector<int> group = BlockGroups(graph_, nodes);
    const auto writer = std::ranges::find_if(nodes, [&](const FusedNode& node) {
      return node.output >= 0 && outputs[static_cast<size_t>(node.output)] == output;
    });
    if (writer == nodes.end() || !RunsInBlocks(FusionRoleOf(graph_.node(writer->node)))) return false;
    if (MatricesOfLaunch(graph_, nodes)) return false;
    const auto written_at = static_cast<size_t>(writer - nodes.begin());
    const Value& written = value(output);
    // One element a row is broadcast to others: which of them a node has read is not looked at here.
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (group[i] == group[written_at] && nodes[i].shape.NumElements() > written.shape.NumElements())
        return false;
    }
    for (size_t reader = 0; reader < nodes.size(); ++reader) {
      for (const int input : nodes[reader].inputs) {
        if (input < 0 || schedule_.Root(inputs[static_cast<size_t>(input)]) != root) continue;
        const Value& read = value(inputs[static_cast<size_t>(input)]);
        const bool in_place = OpRegistry::Global().Find(graph_.node(nodes[reader].node).op)->in_place;
        if (reader > written_at || (reader == written_at && !in_place) ||
            group[reader] != group[written_at] || read.dtype != written.dtype || !read.shape.IsExact() ||
            read.shape.NumElements() != written.shape.NumElements() ||
            BufferOf(read).offset != BufferOf(written).offset)
          return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const Schedule& schedule_;
  OrderClaims& claims_;
  IdVector<DeviceId, Arena> arenas_;
};

}  // namespace

void CheckMemory(const Graph& graph, const Schedule& schedule, OrderClaims* claims) {
  MemoryReplay(graph, schedule, claims).Run();
}

}  // namespace lanescope
