// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of Chakra's et_def.proto.
#include "traces/import/chakra_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/runs/run_view.h"
#include "traces/import/wire_message.h"

namespace lanescope::traces {
namespace {

// NodeType; kJoined: a collective.
enum ChakraType : int64_t { kMetadata = 1, kMemoryLoad, kMemoryStore, kCompute, kSend, kReceive, kJoined };

struct ChakraNode {
  std::string_view name, group;
  int64_t id = 0, type = 0, start_us = 0, length_us = 0;
  std::vector<int64_t> after;  // nodes that it waits for
  int64_t bytes = 0, stream = 0, thread = 0, collective = -1;
  int64_t start_ns = -1, length_ns = 0;  // as exports of ours say it; -1: not said
  bool on_cpu = false;
};

// AttributeProto: the value is in one of many fields; integers of all widths are varints but for the signed
// (zigzag) and fixed ones, which nobody writes for these.
void ReadAttribute(WireMessage attribute, ChakraNode* node) {
  std::string_view name, text;
  int64_t number = 0;
  while (attribute.Next()) {
    if (attribute.field() == 1) name = attribute.Bytes();
    if (attribute.field() > 2 && attribute.is_integer()) number = attribute.Integer();
    if (attribute.field() == 29) text = attribute.Bytes();
  }
  if (name == "is_cpu_op") node->on_cpu = number != 0;
  if (name == "comm_type") node->collective = number;
  if (name == "comm_size" || name == "tensor_size")
    node->bytes = std::clamp<int64_t>(number, 0, int64_t{1} << 60);
  if (name == "start_ns") node->start_ns = number;
  if (name == "duration_ns") node->length_ns = number;
  if (name == "stream") node->stream = number & 0x7fffffff;
  if (name == "tid") node->thread = number;
  if (name == "pg_name") node->group = text;
}

// Adds the numbers of a repeated field, packed or not.
void AddNumbers(const WireMessage& message, std::vector<int64_t>* numbers) {
  if (!message.is_bytes()) return numbers->push_back(message.Integer());
  uint64_t number = 0;
  int shift = 0;
  for (const char c : message.Bytes()) {
    const auto byte = static_cast<uint8_t>(c);
    if (shift < 64) number |= uint64_t{byte & 0x7fu} << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    numbers->push_back(static_cast<int64_t>(number));
    number = 0;
    shift = 0;
  }
}

ChakraNode ReadChakraNode(WireMessage message) {
  ChakraNode node;
  while (message.Next()) {
    switch (message.field()) {
      case 1:
        node.id = message.Integer();
        break;
      case 2:
        node.name = message.Bytes();
        break;
      case 3:
        node.type = message.Integer();
        break;
      case 4:
      case 5:
        AddNumbers(message, &node.after);
        break;
      case 6:
        node.start_us = message.Integer();
        break;
      case 7:
        node.length_us = message.Integer();
        break;
      case 10:
        ReadAttribute(message.Nested(), &node);
        break;
      default:
        break;
    }
  }
  return node;
}

// As NCCL calls CollectiveCommType.
std::string_view CollectiveName(int64_t kind) {
  constexpr std::string_view kNames[] = {"AllReduce",     "Reduce",    "AllGather", "Gather",
                                         "Scatter",       "Broadcast", "AllToAll",  "ReduceScatter",
                                         "ReduceScatter", "Barrier"};
  return kind >= 0 && kind < static_cast<int64_t>(std::size(kNames)) ? kNames[kind] : "Collective";
}

// "job.3.et": 3.
std::optional<int64_t> RankOf(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const std::string_view number = std::string_view(stem).substr(stem.rfind('.') + 1);
  int64_t rank = -1;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), rank);
  if (problem != std::errc() || end != number.data() + number.size() || rank < 0) return std::nullopt;
  return rank;
}

class ChakraReader {
 public:
  explicit ChakraReader(const std::string& path) : path_(path), names_(&trace_) {
    trace_.format = "Chakra";
    trace_.rank = RankOf(path);
  }

  void Add(ChakraNode node) {
    dependent_ += node.after.empty() ? 0 : 1;
    if (node.type <= kMetadata || node.type > kJoined)
      return trace_.LeaveOut(node.type == kMetadata ? "metadata nodes" : "nodes of other types");
    ImportEvent event;
    if (SetTimes(node, &event) && !node.name.empty()) return Add(node, event);
    kept_ += 1 + std::ssize(node.after);
    if (kept_ > kMostKept) {
      Throw(Code::kResourceExhausted,
            "{} has over {} nodes and dependencies without times; convert fewer steps", path_, kMostKept);
    }
    without_start_.push_back(std::move(node));
  }

  ImportTrace Take() {
    if (trace_.events.empty()) LayOut();
    trace_.skipped += std::ssize(without_start_);
    if (trace_.events.empty()) {
      Throw(Code::kInvalidArgument,
            "{} says of no node when it ran: it was recorded before execution, or made; only traces of what "
            "was measured can be shown",
            path_);
    }
    if (dependent_ > 0 && !trace_.laid_out) trace_.LeaveOut("nodes' dependencies", dependent_);
    return std::move(trace_);
  }

 private:
  void Add(const ChakraNode& node, ImportEvent event) {
    event.pid = 1;
    event.tid = node.thread;
    event.name = names_.Intern(NameOf(node));
    // Ops of a processor hold others.
    if (node.type == kCompute && node.on_cpu) {
      trace_.events.push_back(event);
      return;
    }
    event.kind = ImportEvent::Kind::kKernel;
    event.stream = node.stream;
    event.correlation = ++numbered_;
    if (node.type == kMemoryLoad || node.type == kMemoryStore) {
      event.kind = ImportEvent::Kind::kCopy;
      event.ends.kind = node.type == kMemoryLoad ? 1 : 2;
      event.bytes = node.bytes;
    }
    if (node.type >= kSend) {
      const int group = node.group.empty() ? -1 : names_.Intern(node.group);
      trace_.collectives.push_back({event.correlation, names_.Intern(KindOf(node)), group, node.bytes, 0});
    }
    trace_.events.push_back(event);
  }

  // A converter to this format keeps how long nodes took and what they waited for, and not when
  // they ran: each begins when what it waits for has ended, and the node before it on its stream or thread.
  void LayOut() {
    std::vector<ChakraNode> nodes = std::exchange(without_start_, {});
    const bool timed = std::ranges::any_of(nodes, [](const ChakraNode& node) { return LengthOf(node) > 0; });
    if (!timed) {
      without_start_ = std::move(nodes);
      return;
    }
    trace_.laid_out = true;
    trace_.notes.emplace_back(
        "the trace says how long nodes took and what they waited for, not when they ran: each is shown as "
        "early as these allow");
    std::unordered_map<int64_t, size_t> by_id;
    for (size_t i = 0; i < nodes.size(); ++i) by_id.emplace(nodes[i].id, i);
    std::vector<std::vector<size_t>> next(nodes.size());
    std::vector<int64_t> waits(nodes.size(), 0), begins(nodes.size(), 0);
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const int64_t id : nodes[i].after) {
        const auto before = by_id.find(id);
        if (before == by_id.end()) continue;
        next[before->second].push_back(i);
        ++waits[i];
      }
    }
    std::set<size_t> ready;  // in the order of the file
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (waits[i] == 0) ready.insert(i);
    }
    std::map<std::pair<bool, int64_t>, int64_t> free_at;  // threads and streams
    size_t placed = 0;
    for (; !ready.empty(); ++placed) {
      const size_t number = *ready.begin();
      ready.erase(ready.begin());
      const ChakraNode& node = nodes[number];
      int64_t& free = free_at[{node.on_cpu, node.on_cpu ? node.thread : node.stream}];
      ImportEvent event;
      event.start_ns = std::max(begins[number], free);
      event.end_ns = event.start_ns + LengthOf(node);
      if (node.name.empty() || LengthOf(node) < 0 || !UsableTimes(event.start_ns, LengthOf(node))) {
        ++trace_.skipped;
        event.end_ns = event.start_ns;
      } else {
        free = event.end_ns;
        Add(node, event);
      }
      for (const size_t follower : next[number]) {
        begins[follower] = std::max(begins[follower], event.end_ns);
        if (--waits[follower] == 0) ready.insert(follower);
      }
    }
    trace_.skipped += static_cast<int64_t>(nodes.size() - placed);  // in circles
  }

  // In ns; -1: it is none.
  static int64_t LengthOf(const ChakraNode& node) {
    if (node.length_ns > 0) return UsableTimes(0, node.length_ns) ? node.length_ns : -1;
    return node.length_us >= 0 && node.length_us < kMaxImportNs / 1000 ? 1000 * node.length_us : -1;
  }

  // A start at 0 us is none: whoever does not measure leaves it out.
  static bool SetTimes(const ChakraNode& node, ImportEvent* event) {
    constexpr int64_t kMost = kMaxImportNs / 1000;
    const bool fine = node.start_ns >= 0;
    if (!fine &&
        !(node.start_us > 0 && node.start_us < kMost && node.length_us >= 0 && node.length_us < kMost))
      return false;
    event->start_ns = fine ? node.start_ns : 1000 * node.start_us;
    const int64_t length = fine ? node.length_ns : 1000 * node.length_us;
    if (!UsableTimes(event->start_ns, length)) return false;
    event->end_ns = event->start_ns + length;
    return true;
  }
  static std::string_view KindOf(const ChakraNode& node) {
    if (node.type == kSend) return "Send";
    return node.type == kReceive ? "Recv" : CollectiveName(node.collective);
  }
  // A node that moves data between ranks is known by its name.
  static std::string NameOf(const ChakraNode& node) {
    if (node.type < kSend || IsCommunication(node.name)) return std::string(node.name);
    return fmt::format("nccl{} ({})", KindOf(node), node.name);
  }

  static constexpr int64_t kMostKept = int64_t{1} << 24;

  const std::string& path_;
  ImportTrace trace_;
  ImportNames names_;
  std::vector<ChakraNode> without_start_;
  int64_t dependent_ = 0, numbered_ = 0, kept_ = 0;
};

// The file is messages, each behind its size.
bool NextMessage(std::string_view* rest, std::string_view* message) {
  uint64_t size = 0;
  for (int shift = 0; shift < 35 && !rest->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(rest->front());
    rest->remove_prefix(1);
    size |= uint64_t{byte & 0x7fu} << shift;
    if (byte >= 0x80) continue;
    if (size > rest->size()) return false;
    *message = rest->substr(0, size);
    rest->remove_prefix(size);
    return true;
  }
  return false;
}

}  // namespace

bool IsChakra(const ForeignFile& file) { return file.name.ends_with(".et"); }

ImportTrace ReadChakra(const ImportSource& source) {
  const std::string& path = source.path;
  const std::string bytes = ReadFile(path);
  ChakraReader reader(path);
  std::string_view rest = bytes;
  bool first = true;
  while (!rest.empty()) {
    CheckImportGoesOn(source.cancelled);
    std::string_view message;
    if (!NextMessage(&rest, &message)) Throw(Code::kDataLoss, "{} is damaged, or no Chakra trace", path);
    // GlobalMetadata.
    if (!std::exchange(first, false)) reader.Add(ReadChakraNode(WireMessage(message, &path)));
  }
  return reader.Take();
}

}  // namespace lanescope::traces
