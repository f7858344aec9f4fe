#include "profiler/cupti_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace lanescope {
namespace {

constexpr uint32_t kMajor = CUPTI_API_VERSION / 10000;
#ifndef LANESCOPE_CUPTI_LIBRARY
#define LANESCOPE_CUPTI_LIBRARY ""
#endif

struct Layout {
  CUpti_ActivityKind kind;
  size_t bytes;
};
// What the decoder takes records of these kinds for.
constexpr Layout kLayouts[] = {
    {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6)},
    {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4)},
    {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_DEVICE, sizeof(CUpti_ActivityDevice5)},
    {CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(CUpti_ActivityContext3)},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(CUpti_ActivityOverhead3)},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4)},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, sizeof(CUpti_ActivityCudaEvent2)},
    {CUPTI_ACTIVITY_KIND_STREAM, sizeof(CUpti_ActivityStream)},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(CUpti_ActivitySynchronization2)},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, sizeof(CUpti_ActivityExternalCorrelation)},
    {CUPTI_ACTIVITY_KIND_NVLINK, sizeof(CUpti_ActivityNvLink4)},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(CUpti_ActivityGraphTrace2)},
};

void* Open(const std::string& path, std::string* found) {
  const std::string name = "libcupti.so." + std::to_string(kMajor);
  if (!path.empty()) {
    *found = path;
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  *found = name;
  if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return handle;
  if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  *found = LANESCOPE_CUPTI_LIBRARY;
  return found->empty() ? nullptr : dlopen(found->c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

std::unique_ptr<CuptiLibrary> CuptiLibrary::Load(const std::string& path, std::string* reason) {
  std::unique_ptr<CuptiLibrary> library(new CuptiLibrary);
  void* handle = Open(path, &library->path_);
  if (handle == nullptr) {
    const char* error = dlerror();
    *reason = "no CUPTI library " + std::to_string(kMajor) +
              " can be loaded: " + (error == nullptr ? "none found" : error);
    return nullptr;
  }
  if (!library->Resolve(handle, reason) || !library->CheckLayout(reason)) return nullptr;
  return library;
}

bool CuptiLibrary::Resolve(void* handle, std::string* reason) {
  const char* missing = nullptr;
  const auto find = [&](auto* function, const char* name) {
    void* address = dlsym(handle, name);
    if (address == nullptr) missing = name;
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(address);
  };
  find(&GetVersion, "cuptiGetVersion");
  find(&GetResultString, "cuptiGetResultString");
  find(&GetTimestamp, "cuptiGetTimestamp");
  find(&GetCallbackName, "cuptiGetCallbackName");
  find(&Subscribe, "cuptiSubscribe_v2");
  find(&Unsubscribe, "cuptiUnsubscribe");
  find(&EnableCallback, "cuptiEnableCallback");
  find(&GetNextRecord, "cuptiActivityGetNextRecord");
  find(&Enable, "cuptiActivityEnable");
  find(&Disable, "cuptiActivityDisable");
  find(&RegisterCallbacks, "cuptiActivityRegisterCallbacks");
  find(&RegisterTimestampCallback, "cuptiActivityRegisterTimestampCallback");
  find(&FlushAll, "cuptiActivityFlushAll");
  find(&GetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords");
  find(&SetAttribute, "cuptiActivitySetAttribute");
  find(&SetThreadIdType, "cuptiSetThreadIdType");
  find(&EnableRuntimeApi, "cuptiActivityEnableRuntimeApi");
  find(&EnableDriverApi, "cuptiActivityEnableDriverApi");
  find(&PushExternalCorrelationId, "cuptiActivityPushExternalCorrelationId");
  find(&PopExternalCorrelationId, "cuptiActivityPopExternalCorrelationId");
  find(&GetGraphNodeId, "cuptiGetGraphNodeId");
  if (missing != nullptr) {
    *reason = path_ + " has no " + missing + "; CUPTI " + std::to_string(kMajor) + " is needed";
    return false;
  }
  // What matters beyond that, CheckLayout sees.
  if (GetVersion(&version_) != CUPTI_SUCCESS || version_ / 10000 != kMajor) {
    *reason = path_ + " is CUPTI " + std::to_string(version_) + "; that of CUDA " + std::to_string(kMajor) +
              " is needed";
    return false;
  }
  return true;
}

std::string CuptiLibrary::Describe(CUptiResult result) const {
  const char* text = nullptr;
  if (GetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr)
    return "CUPTI error " + std::to_string(result);
  return text;
}

// The library skips from one record to the next: after one of `kind`, it must look for the next kind where
// this one ends.
size_t CuptiLibrary::RecordSize(CUpti_ActivityKind kind) const {
  alignas(8) std::array<uint8_t, 1024> buffer{};
  const int32_t first = kind, any = CUPTI_ACTIVITY_KIND_RUNTIME;
  for (size_t at = 8; at + sizeof(any) <= buffer.size(); at += sizeof(any)) {
    std::memcpy(buffer.data() + at, &any, sizeof(any));
  }
  std::memcpy(buffer.data(), &first, sizeof(first));
  CUpti_Activity* record = nullptr;
  if (GetNextRecord(buffer.data(), buffer.size(), &record) != CUPTI_SUCCESS) return 0;
  if (GetNextRecord(buffer.data(), buffer.size(), &record) != CUPTI_SUCCESS) return 0;
  return static_cast<size_t>(reinterpret_cast<uint8_t*>(record) - buffer.data());
}

// Later versions append fields to records; records that became shorter are other records.
bool CuptiLibrary::CheckLayout(std::string* reason) const {
  for (const Layout& layout : kLayouts) {
    const size_t bytes = RecordSize(layout.kind);
    if (bytes >= layout.bytes) continue;
    *reason = path_ + " has records of kind " + std::to_string(layout.kind) + " with " +
              std::to_string(bytes) + " bytes where " + std::to_string(layout.bytes) +
              " are known; its version is " + std::to_string(version_);
    return false;
  }
  return true;
}

}  // namespace lanescope
