// SPDX-License-Identifier: Apache-2.0
#include "traces/import/nvprof_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "traces/import/nvprof_tables.h"
#include "traces/store/kernel_name.h"
#include "traces/store/sqlite.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

using Kind = ImportEvent::Kind;

int32_t Small(std::optional<int64_t> value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value.value_or(0), 0, INT32_MAX));
}

// CUPTI counts kinds of memory from 1 on: pageable, pinned, device, array, managed.
int MemoryOfCupti(std::optional<int64_t> kind) {
  return kind && *kind >= 1 && *kind <= 5 ? static_cast<int>(*kind) - 1 : 7;
}

class NvprofReader {
 public:
  NvprofReader(const std::string& path, const std::atomic<bool>* cancelled)
      : database_(path, OpenMode::kReadOnly), cancelled_(cancelled), names_(&trace_) {
    trace_.format = "nvprof";
  }

  ImportTrace Read() {
    const Snapshot snapshot(database_);
    ReadTexts();
    ReadDevices();
    ReadKernels(tables::kNvprofConcurrentKernel);
    ReadCopies(tables::kNvprofCopy);
    ReadCopies(tables::kNvprofPeerCopy);
    ReadMemsets();
    ReadSyncs();
    ReadCalls(tables::kNvprofRuntimeCall, true);
    ReadCalls(tables::kNvprofDriverCall, false);
    ReadMarkers();
    if (trace_.events.empty() && trace_.skipped == 0)
      Throw(Code::kInvalidArgument, "{} holds nothing that nvprof recorded", database_.name());
    return std::move(trace_);
  }

 private:
  void ReadTexts() {
    constexpr const auto& from = tables::kNvprofText;
    ReadRows(database_, from, {from.id, from.value},
             [&](const auto& row) { texts_.emplace(row[from.id].value_or(0), row[from.value]); });
  }
  const std::string& TextOf(std::optional<int64_t> id) const {
    static const std::string unknown = "no name";
    const auto found = texts_.find(id.value_or(-1));
    return found == texts_.end() ? unknown : found->second;
  }

  void ReadDevices() {
    constexpr const auto& from = tables::kNvprofDevice;
    ReadRows(database_, from, {from.id, from.name, from.memory, from.processors}, [&](const auto& row) {
      trace_.devices.push_back(
          {row[from.id].value_or(0), row[from.memory], row[from.processors], TextOf(row[from.name])});
    });
  }

  // False: it has no times, and is counted.
  bool SetTimes(std::optional<int64_t> start, std::optional<int64_t> end, ImportEvent* event) {
    CheckImportGoesOn(cancelled_);
    if (!start || !end || *start <= 0 || *end < *start || !UsableTimes(*start, *end - *start)) {
      ++trace_.skipped;
      return false;
    }
    event->start_ns = *start;
    event->end_ns = *end;
    return true;
  }
  // A row of work on a device.
  template <typename Table, typename Row>
  bool SetActivity(const Table& from, const Row& row, ImportEvent* event) {
    if (!SetTimes(row[from.start], row[from.end], event)) return false;
    event->device = std::clamp<int64_t>(row[from.device].value_or(0), 0, kMostDevices);
    event->context = row[from.context].value_or(0);
    event->stream = row[from.stream].value_or(0) & 0x7fffffff;
    event->correlation = row[from.correlation].value_or(-1);
    return true;
  }

  void ReadKernels(const tables::NvprofKernel& from) {
    std::map<int64_t, std::pair<int, int>> names;  // by text: whole and short
    ReadRows(database_, from,
             {from.start, from.end, from.device, from.context, from.stream, from.correlation, from.name,
              from.registers, from.grid_x, from.grid_y, from.grid_z, from.block_x, from.block_y, from.block_z,
              from.static_shared, from.dynamic_shared},
             [&](const auto& row) {
               ImportEvent event;
               event.kind = Kind::kKernel;
               if (!SetActivity(from, row, &event)) return;
               const auto [name, is_new] = names.try_emplace(row[from.name].value_or(-1));
               if (is_new) {
                 const std::string demangled = DemangledKernelName(TextOf(row[from.name]));
                 name->second = {names_.Intern(demangled), names_.Intern(ShortKernelName(demangled))};
               }
               event.name = name->second.first;
               event.brief = name->second.second;
               event.launch = static_cast<int>(trace_.launches.size());
               const int64_t shared =
                   int64_t{Small(row[from.static_shared])} + Small(row[from.dynamic_shared]);
               trace_.launches.push_back(
                   {{Small(row[from.grid_x]), Small(row[from.grid_y]), Small(row[from.grid_z])},
                    {Small(row[from.block_x]), Small(row[from.block_y]), Small(row[from.block_z])},
                    Small(row[from.registers]),
                    Small(shared)});
               trace_.events.push_back(event);
             });
  }

  void ReadCopies(const tables::NvprofCopy& from) {
    const int name = names_.Intern("memcpy");
    ReadRows(database_, from,
             {from.start, from.end, from.device, from.context, from.stream, from.correlation, from.kind,
              from.src_kind, from.dst_kind, from.bytes, from.src_device, from.dst_device},
             [&](const auto& row) {
               ImportEvent event;
               event.kind = Kind::kCopy;
               if (!SetActivity(from, row, &event)) return;
               event.name = name;
               event.ends.kind = static_cast<int>(std::clamp<int64_t>(row[from.kind].value_or(0), 0, 10));
               event.ends.src_memory = MemoryOfCupti(row[from.src_kind]);
               event.ends.dst_memory = MemoryOfCupti(row[from.dst_kind]);
               event.bytes = row[from.bytes];
               event.src_device = std::clamp<int64_t>(row[from.src_device].value_or(-1), -1, kMostDevices);
               event.dst_device = std::clamp<int64_t>(row[from.dst_device].value_or(-1), -1, kMostDevices);
               trace_.events.push_back(event);
             });
  }

  void ReadMemsets() {
    constexpr const auto& from = tables::kNvprofMemset;
    const int name = names_.Intern("memset");
    ReadRows(database_, from,
             {from.start, from.end, from.device, from.context, from.stream, from.correlation, from.bytes},
             [&](const auto& row) {
               ImportEvent event;
               event.kind = Kind::kMemset;
               if (!SetActivity(from, row, &event)) return;
               event.name = name;
               event.bytes = row[from.bytes];
               trace_.events.push_back(event);
             });
  }

  void ReadSyncs() {
    constexpr const auto& from = tables::kNvprofSync;
    const int name = names_.Intern("synchronization");
    ReadRows(database_, from,
             {from.start, from.end, from.device, from.context, from.stream, from.correlation, from.type},
             [&](const auto& row) {
               ImportEvent event;
               event.kind = Kind::kSynchronization;
               if (!SetActivity(from, row, &event)) return;
               event.name = name;
               event.sync_type = static_cast<int>(std::clamp<int64_t>(row[from.type].value_or(0), 0, 4));
               trace_.events.push_back(event);
             });
  }

  void ReadCalls(const tables::NvprofCall& from, bool runtime) {
    std::map<int64_t, int> names;
    ReadRows(database_, from,
             {from.start, from.end, from.function, from.process, from.thread, from.correlation},
             [&](const auto& row) {
               ImportEvent event;
               event.kind = Kind::kApiCall;
               if (!SetTimes(row[from.start], row[from.end], &event)) return;
               const int64_t function = row[from.function].value_or(0);
               const auto [name, is_new] = names.try_emplace(function, 0);
               if (is_new) name->second = names_.Intern(CallOfNumber(runtime, function));
               event.name = name->second;
               event.pid = row[from.process].value_or(0);
               event.tid = row[from.thread].value_or(0);
               event.correlation = row[from.correlation].value_or(-1);
               trace_.events.push_back(event);
             });
  }

  // Both ends of a range are rows of their own; the beginning has the name, and of objectId the first 4 bytes
  // are the process, the next 8 the thread.
  void ReadMarkers() {
    struct Begin {
      int64_t time = 0, pid = 0, tid = 0;
      int name = -1;
    };
    std::map<int64_t, Begin> begins;
    int64_t instants = 0;
    if (!database_.HasTable(tables::kNvprofMarkers)) return;
    Statement rows(database_, fmt::format("SELECT timestamp, flags, id, name, hex(objectId) FROM main.{} "
                                          "ORDER BY timestamp",
                                          tables::kNvprofMarkers));
    while (rows.Step()) {
      CheckImportGoesOn(cancelled_);
      constexpr int64_t kInstant = 1, kStart = 2, kEnd = 4;
      const int64_t time = rows.Integer(0), flags = rows.Integer(1), id = rows.Integer(2);
      if ((flags & kInstant) != 0) ++instants;
      if ((flags & kStart) != 0) {
        const std::string thread(rows.Text(4));
        begins[id] = {time, NumberOfHex(thread, 0, 4), NumberOfHex(thread, 4, 8),
                      names_.Intern(TextOf(rows.Integer(3)))};
      }
      const auto begin = begins.find(id);
      if ((flags & kEnd) == 0 || begin == begins.end()) continue;
      ImportEvent event;
      event.kind = Kind::kRange;
      if (SetTimes(begin->second.time, time, &event)) {
        event.name = begin->second.name;
        event.pid = begin->second.pid;
        event.tid = begin->second.tid;
        trace_.events.push_back(event);
      }
      begins.erase(begin);
    }
    trace_.skipped += static_cast<int64_t>(begins.size());
    if (instants > 0) trace_.LeaveOut("marks", instants);
  }
  // The number of `count` bytes from `first` on, the lowest first.
  static int64_t NumberOfHex(std::string_view hex, size_t first, size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = 2 * (first + i);
      if (at + 2 > hex.size()) break;
      const auto digit = [&](char c) { return static_cast<uint64_t>(c >= 'A' ? c - 'A' + 10 : c - '0'); };
      value |= (digit(hex[at]) << 4 | digit(hex[at + 1])) << (8 * i);
    }
    return static_cast<int64_t>(value & 0xffffffff);
  }

  static constexpr int64_t kMostDevices = 1 << 20;

  Database database_;
  const std::atomic<bool>* cancelled_;
  ImportTrace trace_;
  ImportNames names_;
  std::map<int64_t, std::string> texts_;
};

}  // namespace

bool IsNvprof(const ForeignFile& file) {
  if (!file.is_regular) return false;
  try {
    Database database(file.path, OpenMode::kReadOnly);
    if (!database.HasTable(tables::kNvprofText.sql_name())) return false;
    return database.HasTable(tables::kNvprofConcurrentKernel.sql_name()) ||
           database.HasTable(tables::kNvprofRuntimeCall.sql_name());
  } catch (const Error&) {
    return false;
  }
}

ImportTrace ReadNvprof(const ImportSource& source) {
  return NvprofReader(source.path, source.cancelled).Read();
}

}  // namespace lanescope::traces
