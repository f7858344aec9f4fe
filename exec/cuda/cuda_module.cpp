// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_module.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <vector>

#include "exec/cuda/api.h"

namespace lanescope::exec::cuda {
namespace {

constexpr const char* kModuleFile = "liblanescope_cuda.so";
constexpr const char* kDriverFile = "libcuda.so.1";

std::mutex mutex;
CudaModule* testing_module = nullptr;

// The program, or the module of Python's package, that this is part of; empty where nothing says so.
std::filesystem::path ThisFile() {
  std::error_code error;
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&ThisFile), &info) != 0 && info.dli_fname != nullptr &&
      std::string_view(info.dli_fname).ends_with(".so"))
    return std::filesystem::canonical(info.dli_fname, error);
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::string HexText(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string LastDlError() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown";
}

struct Loaded {
  CudaModule* module = nullptr;
  std::string reason;
};

Loaded LoadModule() {
  std::string reason;
  if (CountVisibleGpus(&reason) == 0) return {nullptr, reason};
  const char* given = std::getenv("LANESCOPE_CUDA_MODULE");
  const auto paths =
      given != nullptr ? std::vector<std::filesystem::path>{given} : CudaModulePaths(ThisFile());
  for (const auto& path : paths) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    // Its symbols stay its own: it carries copies of what it shares with the program.
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return {nullptr, "the CUDA module cannot be loaded: " + LastDlError()};
    const auto entry = reinterpret_cast<CudaModuleEntry>(dlsym(library, kCudaModuleEntry));
    if (entry == nullptr)
      return {nullptr, path.string() + " is no CUDA module of this program; build it again"};
    CudaModule* module = entry(kCudaModuleVersion);
    if (module == nullptr)
      return {nullptr, path.string() + " belongs to another version of this program; build it again"};
    return {module, ""};
  }
  return {nullptr, "this build has no CUDA module (no CUDA toolkit was found when it was configured)"};
}

}  // namespace

CudaModule* LoadCudaModule(std::string* reason) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (testing_module != nullptr) return testing_module;
  static const Loaded loaded = LoadModule();
  *reason = loaded.reason;
  return loaded.module;
}

std::vector<std::filesystem::path> CudaModulePaths(const std::filesystem::path& file) {
  std::vector<std::filesystem::path> paths{file.parent_path() / kModuleFile};
  for (auto prefix = file.parent_path(); prefix.has_relative_path(); prefix = prefix.parent_path()) {
#ifdef LANESCOPE_LIBDIR
    paths.push_back(prefix / LANESCOPE_LIBDIR / "lanescope" / kModuleFile);
#endif
    paths.push_back(prefix / "bin" / kModuleFile);  // a build's
  }
  return paths;
}

void SetCudaModuleForTesting(CudaModule* module) {
  const std::lock_guard<std::mutex> lock(mutex);
  testing_module = module;
}

int CountVisibleGpus(std::string* reason) {
  if (testing_module != nullptr) return testing_module->api().DeviceCount();
  void* driver = dlopen(kDriverFile, RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    *reason = "no NVIDIA driver is installed (libcuda.so.1 was not found)";
    return 0;
  }
  using Init = int (*)(unsigned flags);
  using Count = int (*)(int* count);
  const auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<Count>(dlsym(driver, "cuDeviceGetCount"));
  int gpus = 0;
  const int status = init != nullptr && count != nullptr ? init(0) : -1;
  if (status != 0) {
    *reason = fmt::format("the NVIDIA driver does not start (CUDA error {}); see nvidia-smi", status);
    return 0;
  }
  if (count(&gpus) != 0 || gpus == 0) {
    *reason = "the NVIDIA driver shows no GPU; check CUDA_VISIBLE_DEVICES and nvidia-smi";
    return 0;
  }
  return gpus;
}

std::string GpuUuid(int ordinal) {
  if (testing_module != nullptr)
    return ordinal < testing_module->api().DeviceCount()
               ? HexText(testing_module->api().Properties(ordinal).uuid)
               : "";
  void* driver = dlopen(kDriverFile, RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return "";
  using Device = int;
  using Uuid = std::array<char, 16>;
  using Get = int (*)(Device * device, int ordinal);
  using GetUuid = int (*)(Uuid * uuid, Device device);
  const auto get = reinterpret_cast<Get>(dlsym(driver, "cuDeviceGet"));
  auto get_uuid = reinterpret_cast<GetUuid>(dlsym(driver, "cuDeviceGetUuid_v2"));
  if (get_uuid == nullptr) get_uuid = reinterpret_cast<GetUuid>(dlsym(driver, "cuDeviceGetUuid"));
  Device device = 0;
  Uuid uuid{};
  if (get == nullptr || get_uuid == nullptr || get(&device, ordinal) != 0 || get_uuid(&uuid, device) != 0)
    return "";
  return HexText({uuid.data(), uuid.size()});
}

}  // namespace lanescope::exec::cuda
