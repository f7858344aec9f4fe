#include "traces/import/kineto_events.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "traces/import/gzip_stream.h"
#include "traces/import/run_metadata.h"
#include "traces/store/kernel_name.h"

namespace lanescope::traces {
namespace {

using Json = nlohmann::json;
constexpr double kMaxMicroseconds = static_cast<double>(kMaxImportNs) / 1000;

std::optional<int64_t> Integer(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  return found->get<int64_t>();
}

// Microseconds, whole or not, as ns.
std::optional<int64_t> Nanoseconds(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  if (!(std::abs(found->get<double>()) < kMaxMicroseconds)) return std::nullopt;
  // Times since 1970 lose their last digits as floating-point ns: whole and broken parts apart.
  if (const auto whole = Integer(object, key)) return *whole * 1000;
  const double value = found->get<double>(), whole = std::floor(value);
  return static_cast<int64_t>(whole) * 1000 + std::llround((value - whole) * 1000);
}

std::optional<ImportEvent::Kind> KindOf(const std::string& category) {
  using Kind = ImportEvent::Kind;
  static const std::unordered_map<std::string, Kind> kKinds = {
      {"kernel", Kind::kKernel},         {"Kernel", Kind::kKernel},
      {"gpu_memcpy", Kind::kCopy},       {"Memcpy", Kind::kCopy},
      {"gpu_memset", Kind::kMemset},     {"Memset", Kind::kMemset},
      {"cuda_runtime", Kind::kApiCall},  {"cuda_driver", Kind::kApiCall},
      {"hip_runtime", Kind::kApiCall},   {"Runtime", Kind::kApiCall},
      {"cpu_op", Kind::kRange},          {"Operator", Kind::kRange},
      {"python_function", Kind::kRange}, {"gpu_user_annotation", Kind::kDeviceRange},
      {"user_annotation", Kind::kRange}, {"cuda_sync", Kind::kSynchronization}};
  const auto found = kKinds.find(category);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

class Reader {
 public:
  Reader(std::string path, const std::atomic<bool>* cancelled, const ImportProgress& progress)
      : path_(std::move(path)), cancelled_(cancelled), progress_(progress) {
    trace_.format = "Kineto";
  }

  ImportTrace Read() {
    RefuseEndlessFile(path_);
    GzipBuffer buffer(path_);
    buffer_ = &buffer;
    std::error_code unknown;
    file_bytes_ = static_cast<double>(std::filesystem::file_size(path_, unknown));
    std::istream file(&buffer);
    Json rest;
    try {
      rest = Json::parse(file, [this](int depth, Json::parse_event_t event, Json& parsed) {
        return Keep(depth, event, parsed);
      });
    } catch (const Json::exception& error) {
      if (const std::string problem = buffer.problem(); !problem.empty())
        Throw(Code::kDataLoss, "{} is damaged: {}", path_, problem);
      Throw(Code::kDataLoss, "{} is no JSON, or damaged: {}", path_, error.what());
    }
    if (const std::string problem = buffer.problem(); !problem.empty())
      Throw(Code::kDataLoss, "{} is damaged: {}", path_, problem);
    if (!has_events_) Throw(Code::kInvalidArgument, "{} is no Chrome trace: it has no traceEvents", path_);
    AddTensorFlowOps();
    NameStreams();
    if (trace_.events.empty() && trace_.skipped == 0) {
      Throw(
          Code::kInvalidArgument,
          "{} holds nothing that the profilers of PyTorch and TensorFlow record: no kernels, copies, calls, "
          "operators or annotations",
          path_);
    }
    if (rest.is_object() && rest.contains("deviceProperties")) ReadDevices(rest["deviceProperties"]);
    if (rest.is_object() && rest.contains("distributedInfo") && rest["distributedInfo"].is_object())
      trace_.rank = Integer(rest["distributedInfo"], "rank");
    return std::move(trace_);
  }

 private:
  // False: the value is done with. Depth 1 holds the keys, depth 2 the events; a bare list has them at 1.
  bool Keep(int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::array_start && depth == 0) {
      in_events_ = has_events_ = true;
      events_depth_ = 1;
    }
    if (event == Json::parse_event_t::key && depth == 1 && events_depth_ != 1) {
      in_events_ = parsed.get_ref<const std::string&>() == "traceEvents";
      has_events_ = has_events_ || in_events_;
    }
    if (event == Json::parse_event_t::object_end && in_events_ && depth == events_depth_) {
      AddEvent(parsed);
      return false;
    }
    return true;
  }

  void AddEvent(const Json& event) {
    CheckImportGoesOn(cancelled_);
    constexpr int64_t kBetweenReports = 1 << 14;
    if (++seen_ % kBetweenReports == 0 && progress_ && file_bytes_ > 0)
      progress_(std::min(1.0, static_cast<double>(buffer_->position()) / file_bytes_));
    if (!event.is_object()) return;
    // Not compared as Json with "X": that allocates in a function that must not throw.
    const auto phase = event.find("ph");
    if (phase == event.end() || !phase->is_string()) return;
    const auto& of_phase = phase->get_ref<const std::string&>();
    if (of_phase == "M") return AddName(event);
    const auto category = event.find("cat");
    const auto name = event.find("name");
    const auto text = [&](const auto& field) {
      return field != event.end() && field->is_string() ? field->template get<std::string>() : std::string();
    };
    // From calls to what they launched: correlation ids say that.
    if (of_phase == "s" || of_phase == "t" || of_phase == "f") {
      if (text(category) != "ac2g" && text(category) != "async_cpu_to_gpu")
        trace_.LeaveOut("arrows (" + text(category) + ")");
      return;
    }
    if (of_phase == "i" && text(name) == "[memory]" && AddMemory(event)) return;
    if (of_phase == "X" && text(category) == "Op" && AddTensorFlowOp(event)) return;
    const auto kind = of_phase == "X" ? KindOf(text(category)) : std::nullopt;
    if (!kind) return trace_.LeaveOut(!text(category).empty() ? text(category) : text(name));
    const auto start = Nanoseconds(event, "ts"), length = Nanoseconds(event, "dur");
    if (!start || !length || *length < 0 || name == event.end() || !name->is_string()) {
      ++trace_.skipped;
      return;
    }
    using Kind = ImportEvent::Kind;
    ImportEvent result;
    result.kind = *kind;
    result.start_ns = *start;
    result.end_ns = *start + *length;
    result.pid = Integer(event, "pid").value_or(0);
    result.tid = Integer(event, "tid").value_or(0);
    const auto& said = name->get_ref<const std::string&>();
    if (*kind == Kind::kKernel) {
      const std::string demangled = KinetoKernelName(said);
      result.name = names_.Intern(demangled);
      result.brief = names_.Intern(ShortKernelName(demangled));
    } else {
      result.name = names_.Intern(said);
    }
    // Of what ran on a device, viewers have these as process and thread.
    result.device = result.pid;
    result.stream = result.tid;
    const auto args = event.find("args");
    if (args != event.end() && args->is_object()) {
      result.device = Integer(*args, "device").value_or(result.device);
      result.stream = Integer(*args, "stream").value_or(result.stream);
      result.context = Integer(*args, "context").value_or(0);
      result.correlation = Integer(*args, "correlation").value_or(-1);
      result.bytes = std::max<int64_t>(0, Integer(*args, "bytes").value_or(0));
      if (*kind == Kind::kKernel) AddLaunch(*args, &result);
      if (*kind == Kind::kRange) AddOperator(*args, &result);
      if (*kind == Kind::kSynchronization) {
        result.event = Integer(*args, "wait_on_cuda_event_id").value_or(-1);
        result.recorded_by = Integer(*args, "wait_on_cuda_event_record_corr_id").value_or(-1);
        result.recorded_on = Integer(*args, "wait_on_stream").value_or(-1);
      }
    }
    if (*kind == Kind::kKernel || *kind == Kind::kCopy || *kind == Kind::kMemset ||
        *kind == Kind::kDeviceRange)
      stream_of_.try_emplace({result.pid, result.tid}, result.device, result.stream);
    if (*kind == Kind::kApiCall || *kind == Kind::kRange) host_pids_.insert(result.pid);
    const std::string& called = trace_.names[static_cast<size_t>(result.name)];
    if (*kind == Kind::kCopy) result.ends = ParseCopyName(called);
    if (*kind == Kind::kSynchronization) result.sync_type = SynchronizationType(called);
    trace_.events.push_back(result);
  }

  // How it was launched, and of NCCL's kernels what they move.
  void AddLaunch(const Json& args, ImportEvent* kernel) {
    ImportLaunch launch;
    const bool has_grid = ReadSize(args, "grid", &launch.grid),
               has_block = ReadSize(args, "block", &launch.block);
    launch.registers = Small(args, "registers per thread");
    launch.shared_bytes = Small(args, "shared memory");
    if (has_grid && has_block) {
      const auto [entry, is_new] = launches_.try_emplace(launch, static_cast<int>(trace_.launches.size()));
      if (is_new) trace_.launches.push_back(launch);
      kernel->launch = entry->second;
    }
    const std::string* kind = TextOf(args, "Collective name");
    if (kind == nullptr || kernel->correlation < 0) return;
    const std::string *type = TextOf(args, "dtype"), *group = TextOf(args, "Process Group Name");
    ImportCollective collective;
    collective.correlation = kernel->correlation;
    collective.kind = names_.Intern(*kind);
    if (group != nullptr) collective.group = names_.Intern(*group);
    const int64_t elements = std::max<int64_t>(
        {0, Integer(args, "In msg nelems").value_or(0), Integer(args, "Out msg nelems").value_or(0)});
    const int64_t size = type == nullptr ? 0 : TorchTypeBytes(*type);
    constexpr int64_t kMaxBytes = int64_t{1} << 60;
    if (size > 0 && elements <= kMaxBytes / size) collective.bytes = elements * size;
    collective.ranks = std::clamp<int64_t>(Integer(args, "Group size").value_or(0), 0, INT32_MAX);
    trace_.collectives.push_back(collective);
  }
  // Shapes and types of its inputs and who called it, if the profiler was asked to note them.
  void AddOperator(const Json& args, ImportEvent* range) {
    const auto list = [&](const char* key) {
      const auto found = args.find(key);
      if (found == args.end() || !found->is_array() || found->empty()) return -1;
      return names_.Intern(found->dump(-1, ' ', false, Json::error_handler_t::replace));
    };
    ImportOperator details;
    details.shapes = list("Input Dims");
    for (const char* key : {"Input type", "Input Types"}) {
      if (details.types < 0) details.types = list(key);
    }
    const std::string* stack = TextOf(args, "Call stack");
    if (stack != nullptr && !stack->empty()) details.stack = names_.Intern(*stack);
    if (details == ImportOperator()) return;
    const auto [entry, is_new] = operators_.try_emplace(details, static_cast<int>(trace_.operators.size()));
    if (is_new) trace_.operators.push_back(details);
    range->details = entry->second;
  }
  // Chrome's viewer has streams as threads of processes that are devices.
  void NameStreams() {
    std::set<int64_t> devices;
    for (const auto& [place, stream] : stream_of_) devices.insert(place.first);
    std::erase_if(trace_.threads, [&](const ImportThread& thread) {
      const auto stream = stream_of_.find({thread.pid, thread.tid});
      if (stream == stream_of_.end()) return false;
      trace_.streams.push_back({stream->second.first, stream->second.second, thread.name});
      return true;
    });
    std::erase_if(trace_.processes, [&](const ImportProcess& process) {
      return devices.contains(process.pid) && !host_pids_.contains(process.pid);
    });
  }
  static const std::string* TextOf(const Json& args, const char* key) {
    const auto found = args.find(key);
    return found == args.end() || !found->is_string() ? nullptr : &found->get_ref<const std::string&>();
  }
  static int32_t Small(const Json& args, const char* key) {
    return static_cast<int32_t>(std::clamp<int64_t>(Integer(args, key).value_or(0), 0, INT32_MAX));
  }
  static bool ReadSize(const Json& args, const char* key, std::array<int32_t, 3>* size) {
    const auto found = args.find(key);
    if (found == args.end() || !found->is_array() || found->size() != size->size()) return false;
    for (size_t i = 0; i < size->size(); ++i) {
      const Json& side = (*found)[i];
      if (!side.is_number_unsigned() || side.get<uint64_t>() > INT32_MAX) return false;
      (*size)[i] = side.get<int32_t>();
    }
    return true;
  }

  // Of the timeline that TensorFlow's tools make of RunMetadata; what its process is called says where it
  // ran.
  bool AddTensorFlowOp(const Json& event) {
    const auto start = Nanoseconds(event, "ts"), length = Nanoseconds(event, "dur");
    const auto args = event.find("args");
    const std::string* op = TextOf(event, "name");
    if (!start || !length || *length < 0 || op == nullptr || args == event.end() || !args->is_object())
      return false;
    const std::string* node = TextOf(*args, "name");
    ops_.push_back({Integer(event, "pid").value_or(0), Integer(event, "tid").value_or(0), *start, *length,
                    names_.Intern(node == nullptr ? *op : *node), names_.Intern(*op)});
    return true;
  }
  void AddTensorFlowOps() {
    if (ops_.empty()) return;
    trace_.format = "TensorFlow's timeline";
    std::map<int64_t, std::string> devices;
    constexpr std::string_view kCompute = " Compute";
    for (const ImportProcess& process : trace_.processes) {
      const std::string& name = trace_.names[static_cast<size_t>(process.name)];
      if (name.ends_with(kCompute)) devices[process.pid] = name.substr(0, name.size() - kCompute.size());
    }
    // Its processes are devices.
    trace_.processes.clear();
    TensorFlowRows rows(&trace_);
    for (const Op& op : ops_) {
      const std::string node = trace_.names[static_cast<size_t>(op.node)],
                        type = trace_.names[static_cast<size_t>(op.op)];
      const auto device = devices.find(op.pid);
      rows.Add({device == devices.end() ? std::string_view() : std::string_view(device->second), node, "",
                type, op.start_ns, op.length_ns, op.tid});
    }
    rows.Finish();
  }

  void AddName(const Json& event) {
    const auto what = event.find("name"), args = event.find("args");
    if (what == event.end() || !what->is_string() || args == event.end() || !args->is_object()) return;
    const auto& said = what->get_ref<const std::string&>();
    const auto pid = Integer(event, "pid"), tid = Integer(event, "tid");
    const std::string* name = TextOf(*args, "name");
    if (said != "process_name" && said != "thread_name")
      return trace_.LeaveOut("labels and orders for viewers");
    if (!pid || name == nullptr) return;
    if (said == "thread_name" && tid) trace_.threads.push_back({*pid, *tid, names_.Intern(*name)});
    if (said == "process_name") trace_.processes.push_back({*pid, names_.Intern(*name)});
  }

  // False: it is of the host's memory, or does not say how much.
  bool AddMemory(const Json& event) {
    constexpr int64_t kCuda = 1;  // of c10::DeviceType
    const auto args = event.find("args");
    const auto time = Nanoseconds(event, "ts");
    if (!time || args == event.end() || !args->is_object()) return false;
    const auto bytes = Integer(*args, "Total Allocated"), device = Integer(*args, "Device Id");
    if (Integer(*args, "Device Type") != kCuda || !bytes || *bytes < 0 || !device || *device < 0)
      return false;
    trace_.memory.push_back({*time, *device, *bytes});
    return true;
  }

  void ReadDevices(const Json& list) {
    if (!list.is_array()) return;
    for (const Json& entry : list) {
      if (!entry.is_object()) continue;
      ImportDevice device;
      device.id = Integer(entry, "id").value_or(static_cast<int64_t>(trace_.devices.size()));
      device.memory = std::max<int64_t>(0, Integer(entry, "totalGlobalMem").value_or(0));
      device.multiprocessors = std::max<int64_t>(0, Integer(entry, "numSms").value_or(0));
      const auto name = entry.find("name");
      if (name != entry.end() && name->is_string()) device.name = name->get<std::string>();
      trace_.devices.push_back(std::move(device));
    }
  }

  std::string path_;
  const std::atomic<bool>* cancelled_;
  const ImportProgress& progress_;
  const GzipBuffer* buffer_ = nullptr;
  double file_bytes_ = 0;
  int64_t seen_ = 0;
  std::map<ImportLaunch, int> launches_;
  ImportTrace trace_;
  ImportNames names_{&trace_};
  struct Op {
    int64_t pid = 0, tid = 0, start_ns = 0, length_ns = 0;
    int node = 0, op = 0;  // names
  };
  std::vector<Op> ops_;                                                           // of TensorFlow
  std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>> stream_of_;  // by pid and tid of viewers
  std::set<int64_t> host_pids_;
  std::map<ImportOperator, int> operators_;
  bool in_events_ = false, has_events_ = false;
  int events_depth_ = 2;
};

}  // namespace

ImportTrace ReadKineto(const std::string& path, const std::atomic<bool>* cancelled,
                       const ImportProgress& progress) {
  return Reader(path, cancelled, progress).Read();
}

}  // namespace lanescope::traces
