// SPDX-License-Identifier: Apache-2.0
#include "traces/import/execution_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "traces/import/gzip_stream.h"
#include "traces/import/json_file.h"
#include "traces/import/json_limits.h"
#include "traces/import/kineto_events.h"
#include "traces/import/kineto_fields.h"

namespace lanescope::traces {
namespace {

using Json = nlohmann::json;
using Storages = std::vector<int64_t>;

constexpr int kNode = 2;  // how deep nodes lie: {"nodes": [{..}]}
constexpr std::string_view kOwn = "[pytorch|profiler|execution_trace";  // nodes of the observer itself
constexpr int64_t kMostKept = int64_t{1} << 24;

struct OperatorCall {
  int64_t id = 0, parent = 0, record_function = -1, thread = 0;
  int name = -1, details = -1;
  Storages reads, writes;
};

// A tensor is [tensor, storage, offset, elements, bytes of one, "cuda:0"], and may lie in lists.
void AddStorages(const Json& value, Storages* storages) {
  if (!value.is_array()) return;
  constexpr size_t kStorage = 1, kNumbers = 5;
  const auto is_number = [](const Json& each) { return each.is_number_integer(); };
  const bool is_tensor = value.size() > kNumbers && value[kNumbers].is_string() &&
                         std::all_of(value.begin(), value.begin() + kNumbers, is_number);
  if (is_tensor) return storages->push_back(value[kStorage].get<int64_t>());
  for (const Json& each : value) AddStorages(each, storages);
}

// A node says this under `key`; null: nothing. Newer files have most of it in a list of names and values.
const Json* ValueOf(const Json& node, const char* key) {
  if (const auto found = node.find(key); found != node.end()) return &*found;
  const auto list = node.find("attrs");
  if (list == node.end() || !list->is_array()) return nullptr;
  for (const Json& each : *list) {
    const std::string* name = each.is_object() ? JsonText(each, "name") : nullptr;
    if (name != nullptr && *name == key && each.contains("value")) return &each["value"];
  }
  return nullptr;
}

int64_t NumberOf(const Json& node, const char* key, int64_t otherwise) {
  const Json* value = ValueOf(node, key);
  return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : otherwise;
}

// A list of {"inputs": {"values": [..], "shapes": [..]}}, in older files {"inputs": [..], "input_shapes":
// [..]}; null: there is no such list.
const Json* ListOf(const Json& node, const char* side, const char* part, const char* old) {
  const auto whole = node.find(side);
  if (whole != node.end() && whole->is_object()) {
    const auto found = whole->find(part);
    return found == whole->end() || !found->is_array() ? nullptr : &*found;
  }
  const auto found = node.find(old);
  return found == node.end() || !found->is_array() ? nullptr : &*found;
}

class ExecutionReader {
 public:
  explicit ExecutionReader(const ImportSource& source)
      : path_(source.path), limits_(path_, source.cancelled) {
    trace_.format = "PyTorch's execution trace";
    trace_.is_execution = true;
  }

  ImportTrace Read() {
    const auto keeps = [this](int depth, Json::parse_event_t event, Json& value) {
      return Keeps(depth, event, value);
    };
    const Json rest = ReadJsonFile(path_, &limits_, keeps);
    if (rest.is_object()) trace_.process = JsonInteger(rest, "pid").value_or(-1);
    if (calls_.empty()) Throw(Code::kInvalidArgument, "{} holds no operators", path_);
    std::ranges::stable_sort(calls_, {}, &OperatorCall::id);
    FindEnds();
    LayOut();
    trace_.laid_out = true;
    FindUses();
    trace_.notes.push_back(
        fmt::format("the execution trace says in which order operators ran, not when or how long: each in "
                    "which no other runs is shown as {} us; give it together with the profiler's trace",
                    kLeafNs / 1000));
    return std::move(trace_);
  }

 private:
  static constexpr int64_t kLeafNs = 1000;

  // No node is kept that has been used.
  bool Keeps(int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start || event == Event::value)
      limits_.Begin(depth);
    if (event == Event::key && depth + 1 == kNode) in_nodes_ = value.get_ref<const std::string&>() == "nodes";
    if (event != Event::object_end || depth != kNode) return event != Event::array_end || depth >= kNode;
    if (in_nodes_) AddNode(value);
    limits_.EndEvent();
    return false;
  }

  void AddNode(const Json& node) {
    const std::string* name = JsonText(node, "name");
    if (name == nullptr || name->empty()) return void(++trace_.skipped);
    if (name->starts_with(kOwn)) return;
    OperatorCall call;
    call.id = NumberOf(node, "id", 0);
    call.parent = NumberOf(node, "ctrl_deps", NumberOf(node, "parent", 0));
    call.record_function = NumberOf(node, "rf_id", -1);
    call.thread = NumberOf(node, "tid", 0);
    call.name = names_.Intern(*name);
    ImportOperator details{TextOf(ListOf(node, "inputs", "shapes", "input_shapes")),
                           TextOf(ListOf(node, "inputs", "types", "input_types")), -1};
    if (details != ImportOperator()) {
      const auto [entry, is_new] = operators_.try_emplace(details, static_cast<int>(trace_.operators.size()));
      if (is_new) trace_.operators.push_back(details);
      call.details = entry->second;
    }
    if (const Json* values = ListOf(node, "inputs", "values", "inputs")) AddStorages(*values, &call.reads);
    if (const Json* values = ListOf(node, "outputs", "values", "outputs")) AddStorages(*values, &call.writes);
    kept_ += 1 + std::ssize(call.reads) + std::ssize(call.writes);
    if (kept_ > kMostKept) {
      Throw(Code::kResourceExhausted, "{} has over {} operators and tensors; record fewer steps", path_,
            kMostKept);
    }
    calls_.push_back(std::move(call));
  }

  int TextOf(const Json* list) {
    if (list == nullptr || list->empty()) return -1;
    return names_.Intern(list->dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  // For each call the last one within it, itself where there is none. Numbers are given at the begin, so what
  // runs within a call has a higher one.
  void FindEnds() {
    std::unordered_map<int64_t, size_t> by_id;
    for (size_t i = 0; i < calls_.size(); ++i) by_id.emplace(calls_[i].id, i);
    last_.resize(calls_.size());
    for (size_t i = 0; i < calls_.size(); ++i) last_[i] = i;
    for (size_t i = calls_.size(); i-- > 0;) {
      const auto parent = by_id.find(calls_[i].parent);
      if (parent != by_id.end() && parent->second < i)
        last_[parent->second] = std::max(last_[parent->second], last_[i]);
    }
  }

  void LayOut() {
    std::vector<int64_t> starts, ends;
    int64_t now = 0;
    for (size_t i = 0; i < calls_.size(); ++i) {
      starts.push_back(now);
      if (last_[i] == i) now += kLeafNs;
      ends.push_back(now);
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      const OperatorCall& call = calls_[i];
      ImportEvent event;
      event.start_ns = starts[i];
      event.end_ns = ends[last_[i]];
      event.pid = std::max<int64_t>(0, trace_.process);
      event.tid = call.thread;
      event.name = call.name;
      event.details = call.details;
      event.record_function = call.record_function;
      trace_.events.push_back(event);
    }
  }

  // A call reads what another wrote last, of those that ended before; of calls within each other the
  // outermost.
  void FindUses() {
    using Open = std::pair<size_t, size_t>;  // the last call within, and what is less the further out it is
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    std::unordered_map<int64_t, int64_t> writer_of;  // by storage
    for (size_t i = 0; i < calls_.size(); ++i) {
      for (; !open.empty() && open.top().first < i; open.pop()) {
        const OperatorCall& ended = calls_[calls_.size() - open.top().second];
        for (const int64_t storage : ended.writes) writer_of[storage] = ended.record_function;
      }
      Storages writers;
      for (const int64_t storage : calls_[i].reads) {
        const auto writer = writer_of.find(storage);
        if (writer != writer_of.end() && writer->second >= 0) writers.push_back(writer->second);
      }
      std::ranges::sort(writers);
      writers.erase(std::ranges::unique(writers).begin(), writers.end());
      for (const int64_t writer : writers) trace_.tensor_uses.push_back({calls_[i].record_function, writer});
      open.emplace(last_[i], calls_.size() - i);
    }
  }

  const std::string& path_;
  JsonLimits limits_;
  ImportTrace trace_;
  ImportNames names_{&trace_};
  std::map<ImportOperator, int> operators_;
  std::vector<OperatorCall> calls_;
  std::vector<size_t> last_;
  bool in_nodes_ = false;
  int64_t kept_ = 0;
};

// The trace of the same process; the only one, where the execution trace does not name its own. Null: there
// is none, or several.
ImportTrace* PairOf(const ImportTrace& execution, std::vector<ImportTrace>* traces) {
  ImportTrace* pair = nullptr;
  for (ImportTrace& trace : *traces) {
    const bool same = execution.process < 0 || trace.process == execution.process;
    if (trace.is_execution || !same) continue;
    if (pair != nullptr) return nullptr;
    pair = &trace;
  }
  return pair;
}

struct Named {
  std::string_view name;
  int details = -1;
};

// How many operators were joined.
int64_t Join(const ImportTrace& execution, ImportTrace* trace) {
  std::unordered_map<int64_t, Named> calls;
  execution.events.ForEach([&](const ImportEvent& event) {
    if (event.record_function >= 0)
      calls[event.record_function] = {execution.names[static_cast<size_t>(event.name)], event.details};
  });
  ImportNames names(trace);
  std::map<ImportOperator, int> operators;
  int64_t joined = 0;
  Spool<ImportEvent> events;
  trace->events.ForEach([&](ImportEvent event) {
    const auto call = calls.find(event.record_function);
    const bool known = call != calls.end() && event.kind == ImportEvent::Kind::kRange &&
                       trace->names[static_cast<size_t>(event.name)] == call->second.name;
    if (known) {
      ++joined;
      ImportOperator details =
          event.details < 0 ? ImportOperator() : trace->operators[static_cast<size_t>(event.details)];
      if (call->second.details >= 0) {
        const ImportOperator& said = execution.operators[static_cast<size_t>(call->second.details)];
        const auto text = [&](int own, int other) {
          return own >= 0 || other < 0 ? own : names.Intern(execution.names[static_cast<size_t>(other)]);
        };
        details.shapes = text(details.shapes, said.shapes);
        details.types = text(details.types, said.types);
        const auto [entry, is_new] =
            operators.try_emplace(details, static_cast<int>(trace->operators.size()));
        if (is_new) trace->operators.push_back(details);
        event.details = entry->second;
      }
    } else {
      event.record_function = -1;
    }
    events.push_back(event);
  });
  trace->events = std::move(events);
  trace->tensor_uses.insert(trace->tensor_uses.end(), execution.tensor_uses.begin(),
                            execution.tensor_uses.end());
  return joined;
}

}  // namespace

bool IsExecutionTrace(const ForeignFile& file) {
  if (!IsJsonTrace(file) || !file.is_regular) return false;
  const std::string head = InflatedHead(file.path);
  const bool has_schema = head.find("\"schema\"") != std::string::npos;
  return has_schema && head.find("\"schemaVersion\"") == std::string::npos &&
         head.find("\"nodes\"") != std::string::npos;
}

ImportTrace ReadExecutionTrace(const ImportSource& source) { return ExecutionReader(source).Read(); }

void JoinExecutionTraces(std::vector<ImportTrace>* traces, std::vector<std::string>* files,
                         std::vector<std::string>* left_out) {
  const auto is_execution = [](const ImportTrace& trace) { return trace.is_execution; };
  if (std::ranges::all_of(*traces, is_execution)) return;
  for (size_t i = 0; i < traces->size();) {
    if (!is_execution((*traces)[i])) {
      ++i;
      continue;
    }
    const ImportTrace execution = std::move((*traces)[i]);
    const std::string name = std::filesystem::path((*files)[i]).filename().string();
    traces->erase(traces->begin() + static_cast<std::ptrdiff_t>(i));
    files->erase(files->begin() + static_cast<std::ptrdiff_t>(i));
    ImportTrace* pair = PairOf(execution, traces);
    const int64_t joined = pair == nullptr ? 0 : Join(execution, pair);
    if (joined == 0) {
      left_out->push_back(name);
      continue;
    }
    pair->notes.push_back(
        fmt::format("{} operators have shapes, types and who wrote their tensors from {}", joined, name));
  }
}

}  // namespace lanescope::traces
