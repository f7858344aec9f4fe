// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/nccl_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace lanescope::exec::cuda {
namespace {

constexpr const char* kLibraryFile = "libnccl.so.2";
constexpr int kOldest = 21300;             // the first that says in words what went wrong
constexpr int kOldestOfProcesses = 21400;  // the first whose calls need not wait for other processes

struct Loaded {
  std::shared_ptr<const NcclLibrary> library;
  std::string reason;
};

std::string TextOf(int version) {
  // Until 2.8 a hundredth of it was the minor number.
  const int major = version < 10000 ? version / 1000 : version / 10000;
  return fmt::format("{}.{}.{}", major, version / 100 % (version < 10000 ? 10 : 100), version % 100);
}

// The last name that the library lacks, in `missing`.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}
  template <typename F>
  void Find(F** function, const char* name) {
    *function = reinterpret_cast<F*>(dlsym(library_, name));
    if (*function == nullptr) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

Loaded Load(const std::string& file) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = dlerror();
    return {nullptr, fmt::format("NCCL cannot be loaded ({})", text != nullptr ? text : file)};
  }
  auto library = std::make_shared<NcclLibrary>();
  int (*get_version)(int*) = nullptr;
  Symbols first(handle);
  first.Find(&get_version, "ncclGetVersion");
  if (get_version == nullptr)
    return {nullptr, fmt::format("'{}' is not NCCL: it has no ncclGetVersion", file)};
  if (get_version(&library->version) != kNcclSuccess)
    return {nullptr, fmt::format("NCCL in '{}' does not say its version", file)};
  if (library->version < kOldest) {
    return {nullptr,
            fmt::format("NCCL {} is too old; install {} or later", library->VersionText(), TextOf(kOldest))};
  }
  Symbols symbols(handle);
  symbols.Find(&library->comm_init_all, "ncclCommInitAll");
  symbols.Find(&library->get_unique_id, "ncclGetUniqueId");
  symbols.Find(&library->comm_destroy, "ncclCommDestroy");
  symbols.Find(&library->comm_abort, "ncclCommAbort");
  symbols.Find(&library->comm_get_async_error, "ncclCommGetAsyncError");
  symbols.Find(&library->all_reduce, "ncclAllReduce");
  symbols.Find(&library->all_gather, "ncclAllGather");
  symbols.Find(&library->reduce_scatter, "ncclReduceScatter");
  symbols.Find(&library->send, "ncclSend");
  symbols.Find(&library->receive, "ncclRecv");
  symbols.Find(&library->group_start, "ncclGroupStart");
  symbols.Find(&library->group_end, "ncclGroupEnd");
  symbols.Find(&library->get_error_string, "ncclGetErrorString");
  symbols.Find(&library->get_last_error, "ncclGetLastError");
  if (!symbols.missing().empty())
    return {nullptr, fmt::format("NCCL {} has no {}", library->VersionText(), symbols.missing())};
  Symbols(handle).Find(&library->comm_init_rank_config, "ncclCommInitRankConfig");
  return {std::move(library), ""};
}

}  // namespace

std::string NcclLibrary::VersionText() const { return TextOf(version); }

Error NcclLibrary::ErrorOf(const char* call, int result, NcclComm comm) const {
  const char* said = get_error_string(result);
  const char* more = get_last_error(comm);
  const std::string what = more != nullptr ? more : "";
  return {Code::kInternal,
          fmt::format("{} failed: {}{}{}", call, said != nullptr ? said : std::to_string(result),
                      what.empty() ? "" : ": ", what.substr(0, what.find('\n')))};
}

std::string NcclLibrary::WhyNoProcesses() const {
  if (comm_init_rank_config != nullptr) return "";
  return fmt::format("NCCL {} joins GPUs of one process only; install {} or later", VersionText(),
                     TextOf(kOldestOfProcesses));
}

std::shared_ptr<const NcclLibrary> LoadNccl(std::string* reason) {
  static std::mutex mutex;
  static auto* loaded = new std::map<std::string, Loaded>();  // by file
  const char* given = std::getenv("LANESCOPE_NCCL_LIBRARY");
  const std::string file = given != nullptr && *given != '\0' ? given : kLibraryFile;
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = loaded->find(file);
  if (found == loaded->end()) found = loaded->emplace(file, Load(file)).first;
  *reason = found->second.reason;
  return found->second.library;
}

std::shared_ptr<const NcclLibrary> LibraryForProcesses() {
  std::string reason;
  auto library = LoadNccl(&reason);
  if (library != nullptr) reason = library->WhyNoProcesses();
  if (!reason.empty()) Throw(Code::kFailedPrecondition, "{}", reason);
  return library;
}

NcclUniqueId UniqueIdOf(const std::string& text) {
  NcclUniqueId id{};
  if (text.size() != sizeof id.bytes)
    Throw(Code::kInvalidArgument, "{} bytes do not name a connection of NCCL", text.size());
  std::memcpy(id.bytes, text.data(), sizeof id.bytes);
  return id;
}

}  // namespace lanescope::exec::cuda
