// SPDX-License-Identifier: Apache-2.0
// Internal to traces/record.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/output_file.h"
#include "traces/record/trace_writer.h"

namespace lanescope::traces {

// Where a trace is written: in its file, or in one that takes its place when it is whole.
class TracePlace {
 public:
  TracePlace(const std::string& path, NewTrace appears) : path_(path) {
    std::error_code error;
    is_new_ = !std::filesystem::exists(path, error);
    if (appears == NewTrace::kWithFirstRun || !is_new_) return;
    aside_ = std::make_unique<OutputFile>(path, Existing::kRefuse);
    path_ = aside_->temporary_path();
  }
  ~TracePlace() {
    if (!aside_) return;
    std::error_code ignored;
    for (const char* end : {"-wal", "-shm"}) std::filesystem::remove(path_ + end, ignored);
  }
  TracePlace(const TracePlace&) = delete;
  TracePlace& operator=(const TracePlace&) = delete;

  const std::string& path() const { return path_; }
  bool is_new() const { return is_new_; }
  // The trace is whole.
  void Commit() {
    if (aside_) aside_->Commit();
    aside_.reset();
  }
  // Nothing came of a new trace.
  void Remove() {
    std::error_code ignored;
    if (!aside_) std::filesystem::remove(path_, ignored);
  }

 private:
  std::string path_;
  bool is_new_ = false;
  std::unique_ptr<OutputFile> aside_;
};

}  // namespace lanescope::traces
