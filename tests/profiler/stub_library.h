// SPDX-License-Identifier: Apache-2.0
// CUPTI libraries of all versions, in this process and without a file. Nothing is recorded.
#pragma once

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "profiler/cupti_library.h"
#include "tests/profiler/cupti_records.h"
#include "tests/profiler/stub_cupti.h"

namespace lanescope::profiler {

// The functions that all versions have; a test sets GetVersion and GetNextRecord.
inline cupti::Functions StubFunctions() {
  cupti::Functions functions;
  functions.GetResultString = [](cupti::Result, const char** text) {
    *text = "CUPTI_ERROR_STUB";
    return cupti::kSuccess;
  };
  functions.GetCallbackName = StubCallName;
  return functions;
}

template <uint32_t kVersion>
cupti::Functions StubFunctionsOf() {
  cupti::Functions functions = StubFunctions();
  functions.GetVersion = [](uint32_t* version) {
    *version = kVersion;
    return cupti::kSuccess;
  };
  functions.GetNextRecord = [](uint8_t* buffer, size_t bytes, void** record) {
    return NextStubRecord(buffer, bytes, record,
                          [](int32_t kind) { return StubRecordBytes(kind, kVersion); });
  };
  if (kVersion >= kCupti12_5) {
    functions.EnableRuntimeApi =
        functions.EnableDriverApi = [](uint32_t, uint8_t) { return cupti::kSuccess; };
  }
  return functions;
}

// One for each of kCuptiVersions.
inline const CuptiLibrary& StubLibrary(uint32_t version) {
  static const auto libraries = [] {
    std::map<uint32_t, std::unique_ptr<const CuptiLibrary>> made;
    const auto make = [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
      std::string reason;
      ((made[kCuptiVersions[kIndex]] =
            CuptiLibrary::Adopt(StubFunctionsOf<kCuptiVersions[kIndex]>(), "libstub.so", &reason)),
       ...);
    };
    make(std::make_index_sequence<std::size(kCuptiVersions)>());
    return made;
  }();
  return *libraries.at(version);
}

}  // namespace lanescope::profiler
