// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/nvrtc_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "core/base/error.h"
#include "exec/cuda/functor_headers.h"

namespace lanescope::exec::cuda {
namespace {

using NvrtcProgram = struct NvrtcProgramTag*;

// NVRTC's numbers, which its releases keep.
constexpr int kNvrtcSuccess = 0, kNvrtcInvalidOption = 5;
constexpr size_t kSaid = 500;  // characters of what it says that an error repeats

// As its header says.
struct NvrtcCalls {
  int (*version)(int* major, int* minor) = nullptr;
  int (*create)(NvrtcProgram* program, const char* text, const char* name, int headers,
                const char* const* texts, const char* const* names) = nullptr;
  int (*destroy)(NvrtcProgram* program) = nullptr;
  int (*compile)(NvrtcProgram program, int options, const char* const* texts) = nullptr;
  int (*log_size)(NvrtcProgram program, size_t* bytes) = nullptr;
  int (*log)(NvrtcProgram program, char* text) = nullptr;
  int (*binary_size)(NvrtcProgram program, size_t* bytes) = nullptr;
  int (*binary)(NvrtcProgram program, char* bytes) = nullptr;
  const char* (*error)(int result) = nullptr;
};

class LoadedNvrtc final : public Nvrtc {
 public:
  explicit LoadedNvrtc(const NvrtcCalls& calls) : calls_(calls) { calls_.version(&major_, &minor_); }

  std::string version() const override { return fmt::format("{}.{}", major_, minor_); }

  std::string Compile(const std::string& text, int compute_capability, std::string* log) const override {
    std::vector<const char*> names, texts;
    for (const CarriedHeader& header : FunctorHeaders()) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    NvrtcProgram made = nullptr;
    Check("nvrtcCreateProgram", calls_.create(&made, text.c_str(), "fused.cu", static_cast<int>(names.size()),
                                              texts.data(), names.data()));
    const auto destroy = [this](NvrtcProgram program) { calls_.destroy(&program); };
    const std::unique_ptr<NvrtcProgramTag, decltype(destroy)> program(made, destroy);
    const std::string architecture = fmt::format("--gpu-architecture=sm_{}", compute_capability);
    const char* const options[] = {architecture.c_str(), "--std=c++17"};
    const int result = calls_.compile(program.get(), 2, options);
    const std::string said = Log(program.get());
    if (log != nullptr) *log = said;
    if (result == kNvrtcInvalidOption)
      Throw(Code::kUnimplemented, "NVRTC {} knows no GPU of compute capability {}", version(),
            compute_capability);
    if (result != kNvrtcSuccess)
      Throw(Code::kInternal, "nvrtcCompileProgram failed: {}: {}", calls_.error(result),
            said.substr(0, kSaid));
    size_t bytes = 0;
    Check("nvrtcGetCUBINSize", calls_.binary_size(program.get(), &bytes));
    std::string binary(bytes, '\0');
    Check("nvrtcGetCUBIN", calls_.binary(program.get(), binary.data()));
    return binary;
  }

 private:
  void Check(const char* call, int result) const {
    if (result != kNvrtcSuccess) Throw(Code::kInternal, "{} failed: {}", call, calls_.error(result));
  }
  std::string Log(NvrtcProgram program) const {
    size_t bytes = 0;
    if (calls_.log_size(program, &bytes) != kNvrtcSuccess || bytes < 2) return "";
    std::string text(bytes, '\0');
    if (calls_.log(program, text.data()) != kNvrtcSuccess) return "";
    text.resize(bytes - 1);  // it ends with a zero
    return text;
  }

  NvrtcCalls calls_;
  int major_ = 0, minor_ = 0;
};

struct LoadedLibrary {
  std::shared_ptr<const Nvrtc> nvrtc;
  std::string reason;
};

// Where a toolkit is, whose libraries the loader often does not know.
constexpr const char* kToolkit = "/usr/local/cuda/lib64/";

LoadedLibrary LoadFrom(const std::vector<std::string>& files) {
  void* handle = nullptr;
  std::string said;
  for (const std::string& file : files) {
    if (handle != nullptr) break;
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* text = handle == nullptr ? dlerror() : nullptr;
    if (text != nullptr && said.empty()) said = text;
  }
  if (handle == nullptr) return {nullptr, fmt::format("NVRTC cannot be loaded ({})", said)};
  NvrtcCalls calls;
  const char* missing = nullptr;
  const auto find = [&]<typename F>(F** function, const char* name) {
    *function = reinterpret_cast<F*>(dlsym(handle, name));
    if (*function == nullptr) missing = name;
  };
  find(&calls.version, "nvrtcVersion");
  find(&calls.create, "nvrtcCreateProgram");
  find(&calls.destroy, "nvrtcDestroyProgram");
  find(&calls.compile, "nvrtcCompileProgram");
  find(&calls.log_size, "nvrtcGetProgramLogSize");
  find(&calls.log, "nvrtcGetProgramLog");
  find(&calls.binary_size, "nvrtcGetCUBINSize");
  find(&calls.binary, "nvrtcGetCUBIN");
  find(&calls.error, "nvrtcGetErrorString");
  if (missing != nullptr) return {nullptr, fmt::format("NVRTC has no {}; install CUDA 12 or later", missing)};
  return {std::make_shared<LoadedNvrtc>(calls), ""};
}

}  // namespace

std::shared_ptr<const Nvrtc> LoadNvrtc(std::string* reason) {
  static std::mutex mutex;
  static LoadedLibrary* loaded = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (loaded == nullptr) {
    const char* given = std::getenv("LANESCOPE_NVRTC_LIBRARY");
    std::vector<std::string> files;
    if (given != nullptr && *given != '\0') {
      files = {given};
    } else {
      for (const std::string name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
        files.push_back(name);
        files.push_back(kToolkit + name);
      }
    }
    loaded = new LoadedLibrary(LoadFrom(files));
  }
  *reason = loaded->reason;
  return loaded->nvrtc;
}

}  // namespace lanescope::exec::cuda
