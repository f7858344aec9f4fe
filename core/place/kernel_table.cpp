// SPDX-License-Identifier: Apache-2.0
#include "core/place/kernel_table.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <mutex>

#include "core/base/error.h"
#include "core/graph/op.h"
#include "core/graph/op_args.h"

namespace lanescope {
namespace {

constexpr std::string_view kTable =
#if __has_include("kernels_tsv.inc")
#include "kernels_tsv.inc"
#else
    ""
#endif
    ;

// Serves an op that nobody knows: it can be placed anywhere and simulated by its attributes.
const KernelEntry& UnknownOpEntry() {
  static const KernelEntry entry;
  return entry;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// "T=float32,int64;Tidx=int32". Types that this project does not know are left out, so that a list may
// become empty: it then matches nothing.
std::vector<std::pair<std::string, std::vector<DataType>>> ParseConstraints(std::string_view text) {
  std::vector<std::pair<std::string, std::vector<DataType>>> constraints;
  for (const std::string_view part : Split(text, ';')) {
    const size_t equals = part.find('=');
    LANESCOPE_CHECK(equals != std::string_view::npos);
    std::vector<DataType> types;
    for (const std::string_view name : Split(part.substr(equals + 1), ',')) {
      const DataType type = ParseDataType(name);
      if (type != DataType::kInvalid) types.push_back(type);
    }
    constraints.emplace_back(part.substr(0, equals), std::move(types));
  }
  return constraints;
}

// Columns: op, device type, constraints, host memory arguments, priority, label. Kernels with a label serve
// only nodes that ask for it by a `_kernel` attribute, which graphs from Python do not have.
void ParseRow(std::string_view row, std::vector<KernelEntry>* entries) {
  std::vector<std::string_view> columns;
  for (size_t begin = 0; begin <= row.size();) {
    const size_t end = std::min(row.find('\t', begin), row.size());
    columns.push_back(row.substr(begin, end - begin));
    begin = end + 1;
  }
  LANESCOPE_CHECK(columns.size() >= 5);
  if (columns.size() > 5 && !columns[5].empty()) return;
  KernelEntry entry;
  entry.device_type = columns[1];
  entry.constraints = ParseConstraints(columns[2]);
  for (const std::string_view arg : Split(columns[3], ',')) entry.host_memory_args.emplace_back(arg);
  std::from_chars(columns[4].data(), columns[4].data() + columns[4].size(), entry.priority);
  entries->push_back(std::move(entry));
}

bool HoldsAllowedType(const AttrValue& value, const std::vector<DataType>& allowed) {
  const auto is_allowed = [&](DataType type) {
    return std::find(allowed.begin(), allowed.end(), RemoveRef(type)) != allowed.end();
  };
  if (const auto* type = std::get_if<DataType>(&value)) return is_allowed(*type);
  if (const auto* types = std::get_if<std::vector<DataType>>(&value)) {
    return std::all_of(types->begin(), types->end(), is_allowed);
  }
  return false;
}

// The type that an absent attribute stands for.
const AttrValue* FallbackOf(const Node& node, std::string_view attr) {
  const OpDef* def = OpRegistry::Global().SignatureOf(node);
  const AttrDef* attr_def = def == nullptr ? nullptr : def->FindAttr(attr);
  return attr_def != nullptr && attr_def->fallback ? &*attr_def->fallback : nullptr;
}

bool Serves(const KernelEntry& entry, const Node& node, std::string_view device_type) {
  if (entry.device_type != device_type) return false;
  for (const auto& [attr, allowed] : entry.constraints) {
    const AttrValue* value = node.FindAttr(attr);
    if (value == nullptr) value = FallbackOf(node, attr);
    if (value == nullptr || !HoldsAllowedType(*value, allowed)) return false;
  }
  return true;
}

std::vector<bool> HostArgs(const std::vector<ArgDef>& args, const Node& node, const KernelEntry& entry) {
  std::vector<bool> in_host_memory;
  ForEachArg(args, node, [&](int, const ArgDef& arg, DataType) {
    in_host_memory.push_back(std::find(entry.host_memory_args.begin(), entry.host_memory_args.end(),
                                       arg.name) != entry.host_memory_args.end());
  });
  return in_host_memory;
}

}  // namespace

struct KernelTable::Op {
  std::string_view name() const { return own_name.empty() ? rows.substr(0, rows.find('\t')) : own_name; }
  // Most ops are never asked for, and parsing all would be most of what a short command does.
  const std::vector<KernelEntry>& Entries() {
    std::call_once(parsed, [this] {
      for (const std::string_view row : Split(rows, '\n')) ParseRow(row, &entries);
    });
    return entries;
  }

  std::string own_name;   // of an op that was added
  std::string_view rows;  // of a recorded one: its lines of the table
  std::once_flag parsed;
  std::vector<KernelEntry> entries;
};

KernelTable::KernelTable() = default;
KernelTable::~KernelTable() = default;
KernelTable::KernelTable(KernelTable&&) noexcept = default;

const KernelTable& KernelTable::Global() {
  static const KernelTable table = [] {
    KernelTable recorded;
    for (std::string_view rest = kTable; !rest.empty();) {
      const std::string_view row = rest.substr(0, rest.find('\n'));
      const std::string_view name = row.substr(0, row.find('\t'));
      auto& ops = recorded.ops_;
      if (!row.empty() && row[0] != '#') {
        if (ops.empty() || ops.back()->name() != name) {
          ops.push_back(std::make_unique<Op>());
          ops.back()->rows = row;
        } else {  // the rows of an op are neighbours
          std::string_view& rows = ops.back()->rows;
          rows = {rows.data(), static_cast<size_t>(row.data() + row.size() - rows.data())};
        }
      }
      rest.remove_prefix(std::min(row.size() + 1, rest.size()));
    }
    // Ops of this project run everywhere.
    for (const char* op : {"PackScaledInt8", "UnpackScaledInt8"}) {
      for (const char* device_type : {"CPU", "GPU"}) recorded.Add(op, {device_type, {}, {}, 0});
    }
    return recorded;
  }();
  return table;
}

KernelTable::Op& KernelTable::Slot(std::string_view op) {
  const auto place = std::lower_bound(ops_.begin(), ops_.end(), op,
                                      [](const auto& a, std::string_view b) { return a->name() < b; });
  if (place != ops_.end() && (*place)->name() == op) return **place;
  const auto added = ops_.insert(place, std::make_unique<Op>());
  (*added)->own_name = op;
  return **added;
}

void KernelTable::Declare(std::string op) { Slot(op); }

void KernelTable::Add(std::string op, KernelEntry entry) { Slot(op).entries.push_back(std::move(entry)); }

const std::vector<KernelEntry>* KernelTable::FindOp(std::string_view op) const {
  const auto place = std::lower_bound(ops_.begin(), ops_.end(), op,
                                      [](const auto& a, std::string_view b) { return a->name() < b; });
  return place != ops_.end() && (*place)->name() == op ? &(*place)->Entries() : nullptr;
}

const std::vector<KernelEntry>& KernelTable::Entries(std::string_view op) const {
  static const std::vector<KernelEntry> none;
  const std::vector<KernelEntry>* entries = FindOp(op);
  return entries == nullptr ? none : *entries;
}

const KernelEntry* KernelTable::Find(const Node& node, std::string_view device_type) const {
  const std::vector<KernelEntry>* entries = FindOp(node.op);
  if (entries == nullptr) {
    const bool anywhere =
        node.FindAttr("_lanescope_cost") != nullptr || OpRegistry::Global().Find(node.op) == nullptr;
    return anywhere ? &UnknownOpEntry() : nullptr;
  }
  for (const KernelEntry& entry : *entries) {
    if (Serves(entry, node, device_type)) return &entry;
  }
  return nullptr;
}

std::vector<bool> KernelTable::HostInputs(const Node& node, std::string_view device_type) const {
  const KernelEntry* entry = Find(node, device_type);
  const OpDef* def = OpRegistry::Global().SignatureOf(node);
  if (entry == nullptr || def == nullptr) return std::vector<bool>(node.inputs.size(), false);
  return HostArgs(def->inputs, node, *entry);
}

std::vector<bool> KernelTable::HostOutputs(const Node& node, std::string_view device_type) const {
  const KernelEntry* entry = Find(node, device_type);
  const OpDef* def = OpRegistry::Global().SignatureOf(node);
  if (def == nullptr) return std::vector<bool>(static_cast<size_t>(NumOutputs(node)), false);
  if (entry == nullptr) return HostArgs(def->outputs, node, UnknownOpEntry());
  return HostArgs(def->outputs, node, *entry);
}

}  // namespace lanescope
