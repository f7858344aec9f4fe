// The CUPTI library, loaded when the first capture begins: a program without a capture does not pay for it,
// and one binary runs where there is none.
#pragma once

#include <cupti.h>

#include <memory>
#include <string>

namespace lanescope {

// The functions used here. Thread-safe as CUPTI is.
class CuptiLibrary {
 public:
  // Looks at `path` if it is not empty, then for a CUPTI that the process has loaded already, then where the
  // loader looks, then where it was when this was built. Null with a reason of one line where there is none,
  // or none whose records are those of the headers.
  static std::unique_ptr<CuptiLibrary> Load(const std::string& path, std::string* reason);
  ~CuptiLibrary() = default;  // never unloaded: its threads may still run

  decltype(&::cuptiGetVersion) GetVersion = nullptr;
  decltype(&::cuptiGetResultString) GetResultString = nullptr;
  decltype(&::cuptiGetTimestamp) GetTimestamp = nullptr;
  decltype(&::cuptiGetCallbackName) GetCallbackName = nullptr;
  decltype(&::cuptiSubscribe_v2) Subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) Unsubscribe = nullptr;
  decltype(&::cuptiEnableCallback) EnableCallback = nullptr;
  decltype(&::cuptiActivityGetNextRecord) GetNextRecord = nullptr;
  decltype(&::cuptiActivityEnable) Enable = nullptr;
  decltype(&::cuptiActivityDisable) Disable = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) RegisterCallbacks = nullptr;
  decltype(&::cuptiActivityRegisterTimestampCallback) RegisterTimestampCallback = nullptr;
  decltype(&::cuptiActivityFlushAll) FlushAll = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) GetNumDroppedRecords = nullptr;
  decltype(&::cuptiActivitySetAttribute) SetAttribute = nullptr;
  decltype(&::cuptiSetThreadIdType) SetThreadIdType = nullptr;
  decltype(&::cuptiActivityEnableRuntimeApi) EnableRuntimeApi = nullptr;
  decltype(&::cuptiActivityEnableDriverApi) EnableDriverApi = nullptr;
  decltype(&::cuptiActivityPushExternalCorrelationId) PushExternalCorrelationId = nullptr;
  decltype(&::cuptiActivityPopExternalCorrelationId) PopExternalCorrelationId = nullptr;
  decltype(&::cuptiGetGraphNodeId) GetGraphNodeId = nullptr;

  uint32_t version() const { return version_; }
  const std::string& path() const { return path_; }
  // "CUPTI_ERROR_..." of a result.
  std::string Describe(CUptiResult result) const;
  // Bytes of a record of `kind` by the library's iterator; 0 for kinds that it does not know.
  size_t RecordSize(CUpti_ActivityKind kind) const;

 private:
  CuptiLibrary() = default;
  bool Resolve(void* handle, std::string* reason);
  bool CheckLayout(std::string* reason) const;

  uint32_t version_ = 0;
  std::string path_;
};

}  // namespace lanescope
