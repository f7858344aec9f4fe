// SPDX-License-Identifier: Apache-2.0
#include "traces/import/memory_snapshot.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/units.h"
#include "traces/import/pickle_values.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kMostBlockBytes = int64_t{1} << 50, kMostTimeUs = kMaxImportNs / 1000;
constexpr size_t kShownHolders = 5;

struct Block {
  int64_t bytes = 0;
  int frames = PickleValues::kNoValue;
};

// One step of a device's history: what it holds afterwards.
struct Change {
  int64_t time_us = 0, address = 0;
  Block block;
  bool allocates = false;
};

class SnapshotReader {
 public:
  SnapshotReader(const ImportSource& source, const std::string& bytes)
      : path_(source.path), cancelled_(source.cancelled), values_(bytes, path_, cancelled_) {
    trace_.format = "PyTorch's memory snapshot";
  }

  ImportTrace Read() {
    const int traces = values_.Find(values_.root(), "device_traces");
    if (traces == PickleValues::kNoValue)
      Throw(Code::kInvalidArgument, "{} is no memory snapshot of PyTorch: it has no device_traces", path_);
    ReadSegments();
    int64_t device = 0;
    for (const int trace : values_.ElementsOf(traces)) ReadDevice(device++, trace);
    if (trace_.memory.empty()) {
      Throw(Code::kInvalidArgument,
            "{} has no history of its memory; record one with torch.cuda.memory._record_memory_history()",
            path_);
    }
    return std::move(trace_);
  }

 private:
  int64_t NumberIn(int object, std::string_view key) const {
    return values_.NumberOf(values_.Find(object, key));
  }
  int64_t BytesIn(int object) const {
    return std::clamp<int64_t>(NumberIn(object, "size"), 0, kMostBlockBytes);
  }

  // Blocks that are in use when the snapshot is taken.
  void ReadSegments() {
    for (const int segment : values_.ElementsOf(values_.Find(values_.root(), "segments"))) {
      const int64_t device = NumberIn(segment, "device");
      int64_t address = NumberIn(segment, "address");
      for (const int block : values_.ElementsOf(values_.Find(segment, "blocks"))) {
        if (values_.Find(block, "address") != PickleValues::kNoValue) address = NumberIn(block, "address");
        const int64_t bytes = BytesIn(block);
        if (values_.TextOf(values_.Find(block, "state")) == "active_allocated")
          in_use_[device].try_emplace(address, Block{bytes, values_.Find(block, "frames")});
        // Addresses wrap where the file says so.
        address = static_cast<int64_t>(static_cast<uint64_t>(address) + static_cast<uint64_t>(bytes));
      }
    }
  }

  std::vector<Change> ChangesOf(int trace) {
    std::vector<Change> changes;
    for (const int entry : values_.ElementsOf(trace)) {
      CheckImportGoesOn(cancelled_);
      const std::string_view action = values_.TextOf(values_.Find(entry, "action"));
      const bool allocates = action == "alloc";
      if (!allocates && action != "free_completed") continue;
      const int64_t time = NumberIn(entry, "time_us");
      if (time <= 0 || time >= kMostTimeUs) {
        ++trace_.skipped;
        continue;
      }
      changes.push_back(
          {time, NumberIn(entry, "addr"), {BytesIn(entry), values_.Find(entry, "frames")}, allocates});
    }
    return changes;
  }

  // Blocks given out before the first change: freed in the history or in use at its end, and not allocated
  // in it.
  std::unordered_map<int64_t, Block> BlocksBefore(int64_t device, const std::vector<Change>& changes) const {
    std::unordered_map<int64_t, Block> before;
    std::unordered_map<int64_t, bool> met;
    for (const Change& change : changes) {
      if (met.try_emplace(change.address, true).second && !change.allocates)
        before.try_emplace(change.address, change.block);
    }
    const auto of_device = in_use_.find(device);
    if (of_device == in_use_.end()) return before;
    for (const auto& [address, block] : of_device->second) {
      if (!met.contains(address)) before.try_emplace(address, block);
    }
    return before;
  }

  void ReadDevice(int64_t device, int trace) {
    const std::vector<Change> changes = ChangesOf(trace);
    if (changes.empty()) return;
    trace_.devices.push_back({device, 0, 0, ""});
    std::unordered_map<int64_t, Block> live = BlocksBefore(device, changes);
    int64_t held = 0;
    for (const auto& [address, block] : live) held += block.bytes;
    int64_t most = held;
    size_t peak = 0;  // changes until then
    const auto at = [&](const Change& change) {
      trace_.memory.push_back({change.time_us * 1000, device, std::max<int64_t>(0, held)});
    };
    for (size_t i = 0; i < changes.size(); ++i) {
      held += changes[i].allocates ? changes[i].block.bytes : -changes[i].block.bytes;
      at(changes[i]);
      if (held <= most) continue;
      most = held;
      peak = i + 1;
    }
    for (size_t i = 0; i < peak; ++i) {
      if (changes[i].allocates) {
        live.insert_or_assign(changes[i].address, changes[i].block);
      } else {
        live.erase(changes[i].address);
      }
    }
    const int64_t after_us = peak == 0 ? 0 : changes[peak - 1].time_us - changes[0].time_us;
    NotePeak(device, most, after_us, live);
  }

  void NotePeak(int64_t device, int64_t most, int64_t after_us,
                const std::unordered_map<int64_t, Block>& live) {
    std::map<std::string, int64_t> by_line;
    for (const auto& [address, block] : live) by_line[LineOf(block.frames)] += block.bytes;
    std::vector<std::pair<int64_t, std::string>> holders;
    for (const auto& [line, bytes] : by_line) holders.emplace_back(bytes, line);
    std::ranges::stable_sort(holders, std::greater<>(), &std::pair<int64_t, std::string>::first);
    std::string note = fmt::format("GPU:{} holds {} at most, {} after the first record; of it", device,
                                   FormatBytes(most), TimeText(after_us * 1000));
    int64_t rest = 0;
    for (size_t i = 0; i < holders.size(); ++i) {
      if (i >= kShownHolders) {
        rest += holders[i].first;
      } else {
        note +=
            fmt::format("{} {} of {}", i == 0 ? "" : ",", FormatBytes(holders[i].first), holders[i].second);
      }
    }
    if (rest > 0)
      note += fmt::format(", {} of {} more lines", FormatBytes(rest), holders.size() - kShownHolders);
    trace_.notes.push_back(std::move(note));
  }

  // The innermost of Python outside PyTorch; frames are innermost first.
  std::string LineOf(int frames) const {
    constexpr size_t kMostFrames = 200;
    const std::vector<int>& list = values_.ElementsOf(frames);
    for (size_t i = 0; i < std::min(list.size(), kMostFrames); ++i) {
      const std::string_view file = values_.TextOf(values_.Find(list[i], "filename"));
      if (!file.ends_with(".py") || file.starts_with("torch/") ||
          file.find("/torch/") != std::string_view::npos)
        continue;
      return fmt::format("{}({}): {}", file.substr(file.rfind('/') + 1), NumberIn(list[i], "line"),
                         values_.TextOf(values_.Find(list[i], "name")));
    }
    return "no recorded line";
  }

  const std::string& path_;
  const std::atomic<bool>* cancelled_;
  const PickleValues values_;
  ImportTrace trace_;
  std::map<int64_t, std::map<int64_t, Block>> in_use_;  // by device and address
};

}  // namespace

bool IsMemorySnapshot(const ForeignFile& file) {
  return (file.name.ends_with(".pickle") || file.name.ends_with(".pkl")) && file.is_regular &&
         file.Head().starts_with('\x80');
}

ImportTrace ReadMemorySnapshot(const ImportSource& source) {
  const std::string bytes = ReadFile(source.path);
  return SnapshotReader(source, bytes).Read();
}

}  // namespace lanescope::traces
