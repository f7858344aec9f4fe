// SPDX-License-Identifier: Apache-2.0
#include "tests/core/schedule/dumped_schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

namespace lanescope::test {
namespace {

using nlohmann::json;

struct DumpedAccess {
  std::string memory;  // an arena, or a variable, or the strings of one buffer
  int64_t begin = 0, end = 0;
  bool write = false;
  int value = -1;
  int root = -1;
};

class DumpedSchedule {
 public:
  explicit DumpedSchedule(const json& dump) : dump_(dump) {}

  std::string Fault() {
    for (const json& device : dump_["devices"])
      arena_bytes_[device["name"].get<std::string>()] = device["arena_bytes"].get<int64_t>();
    const size_t count = dump_["commands"].size();
    for (size_t v = 0; v < dump_["values"].size(); ++v) {
      if (std::string fault = OutsideItsMemory(v); !fault.empty()) return fault;
    }
    if (std::string fault = FindOrder(); !fault.empty()) return fault;
    for (const json& command : dump_["commands"]) accesses_.push_back(AccessesOf(command));
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = a + 1; b < count; ++b) {
        if (before_[b][a]) continue;
        if (std::string fault = Conflict(a, b); !fault.empty()) return fault;
      }
    }
    return StaleRead();
  }

 private:
  const json& value(int v) const { return dump_["values"][static_cast<size_t>(v)]; }
  int RootOf(int v) const { return value(v)["alias_of"].is_null() ? v : value(v)["alias_of"].get<int>(); }

  std::string OutsideItsMemory(size_t v) const {
    const json& dumped = dump_["values"][v];
    if (dumped["memory"] != "arena") return "";
    const auto begin = dumped["offset"].get<int64_t>(), bytes = dumped["bytes"].get<int64_t>();
    const int64_t limit = arena_bytes_.at(dumped["device"].get<std::string>());
    const json& root = value(RootOf(static_cast<int>(v)));
    if (begin < 0 || bytes < 0 || begin + bytes > limit)
      return fmt::format("{} lies outside its arena", dumped["tensor"].dump());
    if (root["device"] != dumped["device"] || begin < root["offset"].get<int64_t>() ||
        begin + bytes > root["offset"].get<int64_t>() + root["bytes"].get<int64_t>())
      return fmt::format("{} lies outside what it shares", dumped["tensor"].dump());
    return "";
  }

  // By dependencies and by the queues that run in order, to the end of all chains. A queue that is alone and
  // has one worker does: what was ready earlier is complete.
  std::string FindOrder() {
    const json& commands = dump_["commands"];
    const size_t count = commands.size();
    before_.assign(count, std::vector<char>(count, 0));
    std::map<int, size_t> last;
    for (size_t c = 0; c < count; ++c) {
      auto earlier = commands[c]["after"].get<std::set<size_t>>();
      const int queue = commands[c]["queue"].get<int>();
      const json& on = dump_["queues"][static_cast<size_t>(queue)];
      if (on["in_order"].get<bool>() || (dump_["queues"].size() == 1 && on["workers"] == 1)) {
        if (last.contains(queue)) earlier.insert(last[queue]);
        last[queue] = c;
      }
      for (const size_t e : earlier) {
        if (e >= c) return fmt::format("#{} is listed before #{}, which it waits for", c, e);
        before_[c][e] = 1;
        for (size_t i = 0; i < e; ++i) before_[c][i] |= before_[e][i];
      }
    }
    return "";
  }

  std::optional<DumpedAccess> AccessTo(int v, bool write) const {
    const json& touched = value(v);
    const auto memory = touched["memory"].get<std::string>();
    const int root = RootOf(v);
    if (memory == "arena") {
      const auto begin = touched["offset"].get<int64_t>();
      return DumpedAccess{"arena of " + touched["device"].get<std::string>(),
                          begin,
                          begin + touched["bytes"].get<int64_t>(),
                          write,
                          v,
                          root};
    }
    if (memory == "strings")
      return DumpedAccess{"strings " + std::to_string(touched["buffer"].get<int>()), 0, 1, write, v, root};
    if (touched.contains("variable"))
      return DumpedAccess{"variable " + touched["variable"].get<std::string>(), 0, 1, write, v, root};
    return std::nullopt;
  }

  std::vector<DumpedAccess> AccessesOf(const json& command) const {
    std::vector<DumpedAccess> accesses;
    const auto add = [&](int v, bool write) {
      if (v < 0) return;
      if (auto access = AccessTo(v, write)) accesses.push_back(*access);
    };
    std::set<int> updates;
    if (command.contains("updates")) updates = command["updates"].get<std::set<int>>();
    for (size_t i = 0; i < command["inputs"].size(); ++i)
      add(command["inputs"][i].get<int>(), updates.contains(static_cast<int>(i)));
    for (const json& output : command["outputs"]) {
      // The reference that an update returns is no access by itself.
      if (value(output.get<int>())["alias_of"].is_null()) add(output.get<int>(), true);
    }
    return accesses;
  }

  std::string Conflict(size_t a, size_t b) const {
    for (const DumpedAccess& x : accesses_[a]) {
      for (const DumpedAccess& y : accesses_[b]) {
        const bool same = x.memory == y.memory && x.begin < y.end && y.begin < x.end;
        if (same && (x.write || y.write)) {
          return fmt::format("#{} and #{} have no order and touch +{}..{} of the {}", a, b,
                             std::max(x.begin, y.begin), std::min(x.end, y.end), x.memory);
        }
      }
    }
    return "";
  }

  // A command reads from an arena what was written there last, byte by byte.
  std::string StaleRead() const {
    struct Byte {
      int root = -1;
      size_t writer = SIZE_MAX;
    };
    std::map<std::string, std::vector<Byte>> content;
    for (const auto& [device, bytes] : arena_bytes_)
      content["arena of " + device].resize(static_cast<size_t>(bytes));
    const auto read = [&](const DumpedAccess& access, const std::string& reader) -> std::string {
      if (!content.contains(access.memory)) return "";
      for (int64_t at = access.begin; at < access.end; ++at) {
        if (content[access.memory][static_cast<size_t>(at)].root != access.root)
          return fmt::format("{} reads {}, which is not at +{}", reader, value(access.root)["tensor"].dump(),
                             at);
      }
      return "";
    };
    for (size_t c = 0; c < accesses_.size(); ++c) {
      for (const DumpedAccess& access : accesses_[c]) {
        std::string fault = access.write ? "" : read(access, fmt::format("#{}", c));
        if (!fault.empty()) return fault;
      }
      for (const DumpedAccess& access : accesses_[c]) {
        if (!access.write || !content.contains(access.memory)) continue;
        for (int64_t at = access.begin; at < access.end; ++at) {
          Byte& byte = content[access.memory][static_cast<size_t>(at)];
          if (byte.writer == c) return fmt::format("#{} writes +{} of the {} twice", c, at, access.memory);
          byte = {access.root, c};
        }
        if (std::string fault = OverwritesItsInput(c, access); !fault.empty()) return fault;
      }
    }
    for (const json& fetch : dump_["fetches"]) {
      const auto access = AccessTo(fetch.get<int>(), false);
      std::string fault = access ? read(*access, "the caller") : "";
      if (!fault.empty()) return fault;
    }
    return "";
  }

  std::string OverwritesItsInput(size_t c, const DumpedAccess& write) const {
    const json& command = dump_["commands"][c];
    const bool may = command.value("in_place", false);
    for (const DumpedAccess& read : accesses_[c]) {
      if (read.write || read.memory != write.memory || read.begin >= write.end || write.begin >= read.end)
        continue;
      const json& from = value(read.value);
      const json& to = value(write.value);
      // Element by element: of the same type, the same place and the same size, whatever the step brings.
      const bool alike = from["dtype"] == to["dtype"] && from["shape"] == to["shape"] &&
                         to["shape"].get<std::string>().find('<') == std::string::npos;
      if (!may || !alike || read.begin != write.begin || read.end != write.end)
        return fmt::format("#{} overwrites +{}..{} of what it reads", c, write.begin, write.end);
    }
    return "";
  }

  const json& dump_;
  std::map<std::string, int64_t> arena_bytes_;
  std::vector<std::vector<char>> before_;            // [b][a]: a is complete before b starts
  std::vector<std::vector<DumpedAccess>> accesses_;  // by command
};

}  // namespace

std::string FaultOfDumpedSchedule(std::string_view text) {
  const json dump = json::parse(text);
  return DumpedSchedule(dump).Fault();
}

}  // namespace lanescope::test
