// SPDX-License-Identifier: Apache-2.0
// Answers of queries as text, printed while they are computed.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text_table.h"
#include "traces/store/query.h"

namespace lanescope::traces {

using TextOutput = std::function<void(std::string_view)>;

// A table. The first rows say how wide its columns are. `width`: the columns that a line may have, which
// texts give way for; 0: none has to, and a later text that is wider stands out to the right.
class QueryTable : public QuerySink {
 public:
  explicit QueryTable(TextOutput output, int width = 0) : output_(std::move(output)), width_(width) {}
  void Begin(const std::vector<std::string>& columns) override;
  void Add(QueryRow row) override;
  // After the last row.
  void Finish();

 private:
  void PrintSample();

  TextOutput output_;
  int width_;
  std::vector<std::string> columns_;
  std::vector<QueryRow> sample_;
  bool sampling_ = true;
  TextTable table_;
};

// A line of column names, then one for each row (RFC 4180). Texts are printable, in one line.
class QueryCsv : public QuerySink {
 public:
  explicit QueryCsv(TextOutput output) : output_(std::move(output)) {}
  void Begin(const std::vector<std::string>& columns) override;
  void Add(QueryRow row) override;

 private:
  TextOutput output_;
};

// {"columns": [..], "rows": [[..]]}; infinities become null. An answer that a limit has cut also has "cut":
// "rows" or "time".
class QueryJson : public QuerySink {
 public:
  explicit QueryJson(TextOutput output) : output_(std::move(output)) {}
  void Begin(const std::vector<std::string>& columns) override;
  void Add(QueryRow row) override;
  void Finish(QueryEnd end);

 private:
  TextOutput output_;
  bool any_ = false;
};

}  // namespace lanescope::traces
