// SPDX-License-Identifier: Apache-2.0
#include "traces/import/tensorflow_devices.h"

#include <algorithm>
#include <charconv>

namespace lanescope::traces {
namespace {

// The number of the digits at the start; -1: none, or too many.
int64_t LeadingNumber(std::string_view text) {
  int64_t value = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && value >= 0 ? value : -1;
}

int64_t GpuOfName(std::string_view name) {
  for (const std::string_view key : {"device:GPU:", "/gpu:", "device:gpu:"}) {
    if (const size_t at = name.find(key); at != std::string_view::npos)
      return LeadingNumber(name.substr(at + key.size()));
  }
  return -1;
}

int32_t SmallAfter(std::string_view text, std::string_view key) {
  return static_cast<int32_t>(std::min<int64_t>(NumberAfter(text, key), INT32_MAX));
}

// "2,1,1".
void ReadSides(std::string_view text, std::string_view key, std::array<int32_t, 3>* sides) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return;
  text.remove_prefix(at + key.size());
  for (int32_t& side : *sides) {
    side = static_cast<int32_t>(std::clamp<int64_t>(LeadingNumber(text), 0, INT32_MAX));
    at = text.find_first_of(", ");
    if (at == std::string_view::npos || text[at] == ' ') return;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

TensorFlowDevice ParseTensorFlowDevice(std::string_view name) {
  using Rows = TensorFlowDevice::Rows;
  TensorFlowDevice device;
  const int64_t gpu = GpuOfName(name);
  if (gpu < 0) return device;
  device.gpu = gpu;
  device.rows = Rows::kScheduled;
  if (name.ends_with("/memcpy")) device.rows = Rows::kCopies;
  if (name.ends_with("/sync")) device.rows = Rows::kSync;
  constexpr std::string_view kStream = "/stream:";
  if (const size_t at = name.find(kStream); at != std::string_view::npos) {
    const std::string_view stream = name.substr(at + kStream.size());
    device.rows = stream.starts_with("all") ? Rows::kAllStreams : Rows::kStream;
    device.stream = std::max<int64_t>(0, LeadingNumber(stream));
  }
  return device;
}

CopyEnds ParseTensorFlowCopy(std::string_view name) {
  constexpr struct {
    std::string_view brief, old;
    int kind;
  } kKinds[] = {
      {"H2D", "HtoD", 1}, {"D2H", "DtoH", 2}, {"D2D", "DtoD", 8}, {"H2H", "HtoH", 9}, {"P2P", "PtoP", 10}};
  CopyEnds ends;
  for (const auto& kind : kKinds) {
    const bool is = name.find("Memcpy" + std::string(kind.brief)) != std::string_view::npos ||
                    name.find("MEMCPY" + std::string(kind.old)) != std::string_view::npos;
    if (is) ends.kind = kind.kind;
  }
  return ends;
}

std::string_view OpOfLabel(std::string_view label) {
  const size_t equals = label.find(" = ");
  if (equals == std::string_view::npos) return {};
  label.remove_prefix(equals + 3);
  const size_t open = label.find('(');
  return open == std::string_view::npos ? std::string_view() : label.substr(0, open);
}

std::string_view KernelOfLabel(std::string_view label, ImportLaunch* launch) {
  const size_t details = label.find(" regs:");
  if (details == std::string_view::npos) return label;
  const std::string_view said = label.substr(details);
  launch->registers = SmallAfter(said, " regs:");
  launch->shared_bytes = static_cast<int32_t>(std::min<int64_t>(
      INT32_MAX, int64_t{SmallAfter(said, " static_shared:")} + SmallAfter(said, " dynamic_shared:")));
  ReadSides(said, " grid:", &launch->grid);
  ReadSides(said, " block:", &launch->block);
  return label.substr(0, details);
}

int64_t NumberAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  return at == std::string_view::npos ? 0 : std::max<int64_t>(0, LeadingNumber(text.substr(at + key.size())));
}

}  // namespace lanescope::traces
