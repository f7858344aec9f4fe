// SPDX-License-Identifier: Apache-2.0
// The one exception type of the project. Fallible work throws Error; the edges (command line, GUI, worker
// threads) catch it and print `error: CODE: message`. Broken invariants are LANESCOPE_CHECKs: they mean a
// defect here, never bad input.
#pragma once

#include <fmt/core.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace lanescope {

// The status codes of the field (TensorFlow's and gRPC's names).
enum class Code {
  kCancelled,
  kUnknown,
  kInvalidArgument,
  kDeadlineExceeded,
  kNotFound,
  kAlreadyExists,
  kResourceExhausted,
  kFailedPrecondition,
  kAborted,
  kOutOfRange,
  kUnimplemented,
  kInternal,
  kDataLoss,
};

// "InvalidArgument", "NotFound", ...
std::string_view CodeName(Code code);

class Error : public std::exception {
 public:
  Error(Code code, std::string message);

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // "InvalidArgument: message"
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  Code code_;
  std::string message_;
  std::string what_;
};

template <typename... Args>
[[noreturn]] void Throw(Code code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace lanescope

#define LANESCOPE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::lanescope::CheckFailed(__FILE__, __LINE__, #condition))
