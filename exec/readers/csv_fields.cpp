// SPDX-License-Identifier: Apache-2.0
#include "exec/readers/csv_fields.h"

#include "core/base/error.h"

namespace lanescope::exec {

const std::vector<std::string_view>& CsvFields::Split(std::string_view line, size_t limit) {
  fields_.clear();
  unescaped_.clear();
  if (line.empty()) return fields_;
  size_t at = 0;
  while (at < line.size()) {
    if (line[at] == '\n' || line[at] == '\r') {
      ++at;
    } else if (syntax_.use_quotes && line[at] == '"') {
      at = Quoted(line, at + 1);
    } else {
      at = Unquoted(line, at);
    }
    if (fields_.size() == limit) return fields_;
  }
  if (line.back() == syntax_.delimiter) fields_.emplace_back();
  return fields_;
}

size_t CsvFields::Unquoted(std::string_view line, size_t begin) {
  size_t end = begin;
  for (; end < line.size() && line[end] != syntax_.delimiter; ++end) {
    const char c = line[end];
    if (c == '\n' || c == '\r' || (c == '"' && syntax_.use_quotes)) {
      Throw(Code::kInvalidArgument, "Unquoted fields cannot have quotes/CRLFs inside");
    }
  }
  fields_.push_back(line.substr(begin, end - begin));
  return end + 1;
}

size_t CsvFields::Quoted(std::string_view line, size_t begin) {
  // Never more than the line: what fields point to does not move.
  if (unescaped_.capacity() < line.size()) unescaped_.reserve(line.size());
  const size_t first = unescaped_.size();
  bool has_quotes = false;
  size_t at = begin;
  const auto ends = [&] {
    return line[at] == '"' && (at + 1 == line.size() || line[at + 1] == syntax_.delimiter);
  };
  for (; at < line.size() && !ends(); ++at) {
    if (line[at] == '"') {
      if (line[at + 1] != '"') {
        Throw(Code::kInvalidArgument, "Quote inside a string has to be escaped by another quote");
      }
      has_quotes = true;
      ++at;
    }
    unescaped_ += line[at];
  }
  if (at >= line.size()) {
    Throw(Code::kInvalidArgument, "Quoted field has to end with quote followed by delim or end");
  }
  if (has_quotes) {
    fields_.push_back(std::string_view(unescaped_).substr(first));
  } else {
    unescaped_.resize(first);
    fields_.push_back(line.substr(begin, at - begin));
  }
  return at + 2;
}

}  // namespace lanescope::exec
