// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "profiler/cuda_driver.h"

namespace lanescope::profiler {
namespace {

#ifndef LANESCOPE_CUPTI_LIBRARY
#define LANESCOPE_CUPTI_LIBRARY ""
#endif

// A CUPTI newer than the driver does not work with it.
std::vector<std::string> LibraryNames() {
  const int driver = CudaDriverVersion();
  if (driver > 0 && driver < 13000) return {"libcupti.so.12"};
  return {"libcupti.so.13", "libcupti.so.12"};
}

// Null with a reason. `found` becomes what was opened.
void* Open(std::string* found, std::string* reason) {
  std::string problem;
  const auto open = [&](const std::string& name, int flags) {
    *found = name;
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    const char* error = handle == nullptr ? dlerror() : nullptr;
    if (error != nullptr && problem.empty() && flags == 0) problem = error;
    return handle;
  };
  if (const char* given = std::getenv("LANESCOPE_CUPTI"); given != nullptr && *given != '\0') {
    void* handle = open(given, 0);
    if (handle == nullptr) *reason = "the library that LANESCOPE_CUPTI names cannot be loaded: " + problem;
    return handle;
  }
  const std::vector<std::string> names = LibraryNames();
  for (const std::string& name : names) {
    if (void* handle = open(name, RTLD_NOLOAD)) return handle;
  }
  for (const std::string& name : names) {
    if (void* handle = open(name, 0)) return handle;
    const std::string built = LANESCOPE_CUPTI_LIBRARY;
    if (built.ends_with(name)) {
      if (void* handle = open(built, 0)) return handle;
    }
    for (const char* folder : {"lib64", "extras/CUPTI/lib64"}) {
      if (void* handle = open(std::string("/usr/local/cuda/") + folder + "/" + name, 0)) return handle;
    }
  }
  *reason = "no CUPTI library can be loaded: " + problem + "; LANESCOPE_CUPTI names one";
  return nullptr;
}

// The first function that every version from 12.2 on has and this one lacks; null if there is none.
const char* Resolve(void* handle, cupti::Functions* functions) {
  const char* missing = nullptr;
  const auto find = [&](auto* function, const char* name) {
    void* address = dlsym(handle, name);
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(address);
    return address != nullptr;
  };
  const auto need = [&](auto* function, const char* name) {
    if (!find(function, name) && missing == nullptr) missing = name;
  };
  need(&functions->GetVersion, "cuptiGetVersion");
  need(&functions->GetResultString, "cuptiGetResultString");
  need(&functions->GetTimestamp, "cuptiGetTimestamp");
  need(&functions->GetCallbackName, "cuptiGetCallbackName");
  need(&functions->Subscribe, "cuptiSubscribe");
  need(&functions->Unsubscribe, "cuptiUnsubscribe");
  need(&functions->EnableCallback, "cuptiEnableCallback");
  need(&functions->GetNextRecord, "cuptiActivityGetNextRecord");
  need(&functions->Enable, "cuptiActivityEnable");
  need(&functions->Disable, "cuptiActivityDisable");
  need(&functions->RegisterCallbacks, "cuptiActivityRegisterCallbacks");
  need(&functions->RegisterTimestampCallback, "cuptiActivityRegisterTimestampCallback");
  need(&functions->FlushAll, "cuptiActivityFlushAll");
  need(&functions->GetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords");
  need(&functions->SetAttribute, "cuptiActivitySetAttribute");
  need(&functions->SetThreadIdType, "cuptiSetThreadIdType");
  need(&functions->PushExternalCorrelationId, "cuptiActivityPushExternalCorrelationId");
  need(&functions->PopExternalCorrelationId, "cuptiActivityPopExternalCorrelationId");
  need(&functions->GetGraphNodeId, "cuptiGetGraphNodeId");
  find(&functions->SubscribeNamed, "cuptiSubscribe_v2");
  find(&functions->EnableRuntimeApi, "cuptiActivityEnableRuntimeApi");
  find(&functions->EnableDriverApi, "cuptiActivityEnableDriverApi");
  return missing;
}

}  // namespace

std::unique_ptr<CuptiLibrary> CuptiLibrary::Load(std::string* reason) {
  std::string found;
  void* handle = Open(&found, reason);
  if (handle == nullptr) return nullptr;
  cupti::Functions functions;
  if (const char* missing = Resolve(handle, &functions)) {
    *reason = found + " has no " + missing + ": CUPTI of CUDA 12.2 or later is needed";
    return nullptr;
  }
  return Adopt(functions, found, reason);
}

std::unique_ptr<CuptiLibrary> CuptiLibrary::Adopt(const cupti::Functions& functions, const std::string& path,
                                                  std::string* reason) {
  std::unique_ptr<CuptiLibrary> library(new CuptiLibrary(functions, path));
  if (!library->CheckVersion(reason) || !library->MeasureRecords(reason)) return nullptr;
  library->SayLimits();
  return library;
}

std::string CuptiLibrary::Describe(cupti::Result result) const {
  const char* text = nullptr;
  if (GetResultString(result, &text) != cupti::kSuccess || text == nullptr)
    return "CUPTI error " + std::to_string(result);
  return text;
}

bool CuptiLibrary::CheckVersion(std::string* reason) {
  if (const cupti::Result result = GetVersion(&version_); result != cupti::kSuccess) {
    *reason = path_ + " does not say its version: " + Describe(result);
    return false;
  }
  if (version_ >= kCupti12_2 && version_ < kCuptiUnknown) return true;
  *reason = path_ + " is " + CuptiName(version_) +
            (version_ < kCupti12_2 ? ": that of CUDA 12.2 or later is needed"
                                   : ": those of CUDA 12.2 to 13 are known");
  return false;
}

// The library skips from one record to the next: after one of `kind`, it must look for the next kind where
// this one ends.
size_t CuptiLibrary::Measure(cupti::Kind kind) const {
  alignas(8) std::array<uint8_t, 1024> buffer{};
  const int32_t first = kind, any = cupti::kRuntime;
  for (size_t at = 8; at + sizeof(any) <= buffer.size(); at += sizeof(any)) {
    std::memcpy(buffer.data() + at, &any, sizeof(any));
  }
  std::memcpy(buffer.data(), &first, sizeof(first));
  void* record = nullptr;
  if (GetNextRecord(buffer.data(), buffer.size(), &record) != cupti::kSuccess) return 0;
  if (GetNextRecord(buffer.data(), buffer.size(), &record) != cupti::kSuccess) return 0;
  return static_cast<size_t>(static_cast<uint8_t*>(record) - buffer.data());
}

// Later versions append fields to records; records that became shorter are other records.
bool CuptiLibrary::MeasureRecords(std::string* reason) {
  const bool known = version_ / 100 <= kCupti13_5 / 100;
  const bool measurable = Measure(cupti::kConcurrentKernel) != 0;
  std::string others, longer;
  const auto add = [](cupti::Kind kind, std::string* list) {
    *list += (list->empty() ? "" : ", ") + std::to_string(kind);
  };
  for (const KnownSize& first : kKnownSizes) {
    if (first.since != kCupti12_2) continue;  // one entry a kind
    const size_t expected = KnownBytes(first.kind, version_);
    const size_t bytes = measurable || !known ? Measure(first.kind) : expected;
    if (bytes == 0) continue;
    if (bytes < LeastBytes(first.kind, version_)) {
      add(first.kind, &others);
      continue;
    }
    sizes_[first.kind] = bytes;
    if (bytes > expected) add(first.kind, &longer);
  }
  if (!CanRead(cupti::kConcurrentKernel)) {
    *reason = path_ + " (" + CuptiName(version_) + ") has other records of kernels than are known, of " +
              std::to_string(Measure(cupti::kConcurrentKernel)) + " bytes";
    return false;
  }
  if (!others.empty()) {
    limits_.push_back(CuptiName(version_) + " has unknown records of kinds " + others +
                      ", which are left out");
  }
  if (!known) {
    limits_.push_back(CuptiName(version_) +
                      " is newer than this program knows: records are read as those of 13.5" +
                      (longer.empty() ? "" : ", what was appended to kinds " + longer + " is left out"));
  }
  return true;
}

void CuptiLibrary::SayLimits() {
  if (!CanChooseCalls()) {
    limits_.push_back(
        CuptiName(version_) +
        " cannot record single calls, as that of 12.5 can: all calls of the runtime and the driver are "
        "recorded and sorted out afterwards, which slows the program more");
  }
  if (version_ == kCupti12_4) {
    limits_.push_back(
        "CUPTI of CUDA 12.4 update 1 can miss all kernels; where none are recorded, name another one in "
        "LANESCOPE_CUPTI");
  }
}

size_t CuptiLibrary::RecordSize(cupti::Kind kind) const {
  const auto known = sizes_.find(kind);
  return known == sizes_.end() ? Measure(kind) : known->second;
}

}  // namespace lanescope::profiler
