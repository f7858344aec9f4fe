// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"

namespace lanescope {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kCancelled:
      return "Cancelled";
    case Code::kUnknown:
      return "Unknown";
    case Code::kInvalidArgument:
      return "InvalidArgument";
    case Code::kDeadlineExceeded:
      return "DeadlineExceeded";
    case Code::kNotFound:
      return "NotFound";
    case Code::kAlreadyExists:
      return "AlreadyExists";
    case Code::kResourceExhausted:
      return "ResourceExhausted";
    case Code::kFailedPrecondition:
      return "FailedPrecondition";
    case Code::kAborted:
      return "Aborted";
    case Code::kOutOfRange:
      return "OutOfRange";
    case Code::kUnimplemented:
      return "Unimplemented";
    case Code::kInternal:
      return "Internal";
    case Code::kDataLoss:
      return "DataLoss";
  }
  return "Unknown";
}

Error::Error(Code code, std::string message)
    : code_(code), message_(std::move(message)), what_(fmt::format("{}: {}", CodeName(code), message_)) {}

void CheckFailed(const char* file, int line, const char* condition) {
  throw Error(Code::kInternal, fmt::format("broken invariant `{}` at {}:{}; this is a defect of lanescope",
                                           condition, file, line));
}

}  // namespace lanescope
