// SPDX-License-Identifier: Apache-2.0
// One line of comma-separated values cut into its fields, by TensorFlow's rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanescope::exec {

struct CsvSyntax {
  char delimiter = ',';
  bool use_quotes = true;
};

// Reused from line to line. Thread-compatible.
class CsvFields {
 public:
  explicit CsvFields(const CsvSyntax& syntax) : syntax_(syntax) {}

  // Throws InvalidArgument for quotes and line breaks where none may be. Line breaks before a field are
  // skipped. The fields live as long as `line`, until the next call. Looks no further than `limit` fields.
  const std::vector<std::string_view>& Split(std::string_view line, size_t limit = std::string_view::npos);

 private:
  size_t Unquoted(std::string_view line, size_t begin);
  size_t Quoted(std::string_view line, size_t begin);

  const CsvSyntax syntax_;
  std::vector<std::string_view> fields_;
  std::string unescaped_;  // fields with doubled quotes, behind each other
};

}  // namespace lanescope::exec
