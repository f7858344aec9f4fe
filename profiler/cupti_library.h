// SPDX-License-Identifier: Apache-2.0
// The CUPTI library, loaded when the first capture begins: a program without a capture does not pay for it,
// and one binary runs where there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profiler/activity_layout.h"
#include "profiler/cupti_api.h"

namespace lanescope::profiler {

// Any version from that of CUDA 12.2 on. Its functions, and the sizes of its records. Thread-safe as CUPTI
// is.
class CuptiLibrary : public cupti::Functions {
 public:
  // The file that LANESCOPE_CUPTI names; or else one that the process has loaded already, that the loader
  // finds, that was there when this was built, or in /usr/local/cuda, those of CUDA 13 before those of 12
  // where the driver can do with them. Null with a reason of one line where there is none, or none that can
  // be used.
  static std::unique_ptr<CuptiLibrary> Load(std::string* reason);
  // Functions that somebody has found; `path` is for messages.
  static std::unique_ptr<CuptiLibrary> Adopt(const cupti::Functions& functions, const std::string& path,
                                             std::string* reason);
  ~CuptiLibrary() = default;  // never unloaded: its threads may still run

  uint32_t version() const { return version_; }
  const std::string& path() const { return path_; }
  // "CUPTI_ERROR_..." of a result.
  std::string Describe(cupti::Result result) const;
  // Bytes of a record of `kind`; 0 for kinds that the library does not know.
  size_t RecordSize(cupti::Kind kind) const;
  // Whether records of `kind` have the fields that are read here, see activity_layout.h.
  bool CanRead(cupti::Kind kind) const { return sizes_.contains(kind); }
  // Whether single calls of the API can be recorded, or just all of them.
  bool CanChooseCalls() const { return EnableRuntimeApi != nullptr && EnableDriverApi != nullptr; }
  // Whether it goes on without the buffer that it asked for; earlier versions crash.
  bool CanGoWithoutBuffer() const { return version_ >= kCupti12_9; }
  // Lists what this version does not do, or does not do surely, for the user: one line each.
  const std::vector<std::string>& limits() const { return limits_; }

 private:
  CuptiLibrary(const cupti::Functions& functions, std::string path)
      : cupti::Functions(functions), path_(std::move(path)) {}
  bool CheckVersion(std::string* reason);
  bool MeasureRecords(std::string* reason);
  size_t Measure(cupti::Kind kind) const;
  void SayLimits();

  const std::string path_;
  uint32_t version_ = 0;
  std::map<cupti::Kind, size_t> sizes_;  // of what is read
  std::vector<std::string> limits_;
};

}  // namespace lanescope::profiler
