// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <utility>

#include "traces/import/kineto_events.h"
#include "traces/store/kernel_name.h"

namespace lanescope::traces {
namespace {

int MemoryKind(std::string_view name) {
  constexpr std::string_view kNames[] = {"Pageable", "Pinned", "Device", "Array", "Managed"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<int>(i);
  }
  return 7;
}

// As Intel's tools write a copy: "M2D" from memory that only the host knows, H memory of the host that
// devices know, S shared, D a device's. Kind 0: the name has none.
CopyEnds ParseCopyLetters(std::string_view name) {
  constexpr std::string_view kLetters = "MHDS";
  constexpr int kMemory[] = {0, 1, 2, 4};
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  CopyEnds ends;
  for (size_t two = name.find('2'); two != std::string_view::npos; two = name.find('2', two + 1)) {
    if (two == 0 || two + 1 == name.size()) continue;
    const size_t from = kLetters.find(name[two - 1]), to = kLetters.find(name[two + 1]);
    const bool within = (two > 1 && is_letter(name[two - 2])) ||
                        (two + 2 < name.size() && (is_letter(name[two + 2]) || name[two + 2] == '2'));
    if (from == std::string_view::npos || to == std::string_view::npos || within) continue;
    const bool from_host = from < 2, to_host = to < 2;
    ends.kind = from_host ? (to_host ? 9 : 1) : to_host ? 2 : 8;
    ends.src_memory = kMemory[from];
    ends.dst_memory = kMemory[to];
    return ends;
  }
  return ends;
}

}  // namespace

CopyEnds ParseCopyName(std::string_view name) {
  constexpr std::pair<std::string_view, int> kKinds[] = {{"HtoD", 1},
                                                         {"DtoH", 2},
                                                         {"HtoA", 3},
                                                         {"AtoH", 4},
                                                         {"AtoA", 5},
                                                         {"AtoD", 6},
                                                         {"DtoA", 7},
                                                         {"DtoD", 8},
                                                         {"HtoH", 9},
                                                         {"PtoP", 10},
                                                         // As ROCm calls them.
                                                         {"CopyHostToDevice", 1},
                                                         {"CopyDeviceToHost", 2},
                                                         {"CopyDeviceToDevice", 8}};
  CopyEnds ends = ParseCopyLetters(name);
  for (const auto& [text, kind] : kKinds) {
    if (name.find(text) != std::string_view::npos) ends.kind = kind;
  }
  const size_t open = name.find('('), arrow = name.find(" -> "), close = name.find(')');
  if (open != std::string_view::npos && arrow != std::string_view::npos && close != std::string_view::npos &&
      open < arrow && arrow + 4 <= close) {
    ends.src_memory = MemoryKind(name.substr(open + 1, arrow - open - 1));
    ends.dst_memory = MemoryKind(name.substr(arrow + 4, close - arrow - 4));
  }
  return ends;
}

std::string KinetoKernelName(const std::string& name) {
  constexpr std::string_view kDescriptor = ".kd";
  if (!name.starts_with("_Z")) return name;
  return DemangledKernelName(name.ends_with(kDescriptor) ? name.substr(0, name.size() - kDescriptor.size())
                                                         : name);
}

int SynchronizationType(std::string_view name) {
  constexpr std::string_view kNames[] = {"Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<int>(i) + 1;
  }
  return 0;
}

int64_t TorchTypeBytes(std::string_view name) {
  constexpr std::pair<std::string_view, int64_t> kTypes[] = {
      {"Float", 4},          {"Double", 8},       {"Half", 2},
      {"BFloat16", 2},       {"Int", 4},          {"Long", 8},
      {"Short", 2},          {"Byte", 1},         {"Char", 1},
      {"Bool", 1},           {"UInt16", 2},       {"UInt32", 4},
      {"UInt64", 8},         {"ComplexFloat", 8}, {"ComplexDouble", 16},
      {"Float8_e4m3fn", 1},  {"Float8_e5m2", 1},  {"Float8_e4m3fnuz", 1},
      {"Float8_e5m2fnuz", 1}};
  for (const auto& [type, bytes] : kTypes) {
    if (type == name) return bytes;
  }
  return 0;
}

}  // namespace lanescope::traces
