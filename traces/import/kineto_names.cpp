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
  CopyEnds ends;
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
