// Field numbers are those of Chakra's et_def.proto.
#include "traces/import/chakra_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/base/error.h"
#include "core/runs/run_view.h"
#include "traces/import/wire_message.h"

namespace lanescope::traces {
namespace {

// NodeType; kJoined: a collective.
enum ChakraType : int64_t { kMetadata = 1, kMemoryLoad, kMemoryStore, kCompute, kSend, kReceive, kJoined };

struct ChakraNode {
  std::string_view name, group;
  int64_t type = 0, start_us = 0, length_us = 0, dependencies = 0;
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

ChakraNode ReadChakraNode(WireMessage message) {
  ChakraNode node;
  while (message.Next()) {
    switch (message.field()) {
      case 2:
        node.name = message.Bytes();
        break;
      case 3:
        node.type = message.Integer();
        break;
      case 4:
      case 5:
        // Packed: a byte or more each.
        node.dependencies += message.is_bytes() ? static_cast<int64_t>(message.Bytes().size()) : 1;
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

  void Add(const ChakraNode& node) {
    dependent_ += node.dependencies > 0 ? 1 : 0;
    if (node.type <= kMetadata || node.type > kJoined)
      return trace_.LeaveOut(node.type == kMetadata ? "metadata nodes" : "nodes of other types");
    ImportEvent event;
    if (!SetTimes(node, &event) || node.name.empty()) {
      ++trace_.skipped;
      return;
    }
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

  ImportTrace Take() {
    if (trace_.events.empty()) {
      Throw(Code::kInvalidArgument,
            "{} says of no node when it ran: it was recorded before execution, or made; only traces of what "
            "was measured can be shown",
            path_);
    }
    if (dependent_ > 0) trace_.LeaveOut("nodes' dependencies", dependent_);
    return std::move(trace_);
  }

 private:
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
  // What moves data between ranks is known by its name.
  static std::string NameOf(const ChakraNode& node) {
    if (node.type < kSend || IsCommunication(node.name)) return std::string(node.name);
    return fmt::format("nccl{} ({})", KindOf(node), node.name);
  }

  const std::string& path_;
  ImportTrace trace_;
  ImportNames names_;
  int64_t dependent_ = 0, numbered_ = 0;
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

ImportTrace ReadChakra(const std::string& bytes, const std::string& path,
                       const std::atomic<bool>* cancelled) {
  ChakraReader reader(path);
  std::string_view rest = bytes;
  bool first = true;
  while (!rest.empty()) {
    CheckImportGoesOn(cancelled);
    std::string_view message;
    if (!NextMessage(&rest, &message)) Throw(Code::kDataLoss, "{} is damaged, or no Chakra trace", path);
    // GlobalMetadata.
    if (!std::exchange(first, false)) reader.Add(ReadChakraNode(WireMessage(message, &path)));
  }
  return reader.Take();
}

}  // namespace lanescope::traces
