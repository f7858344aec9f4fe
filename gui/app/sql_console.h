// SPDX-License-Identifier: Apache-2.0
// Questions in SQL to an open trace.
#pragma once

#include <functional>
#include <string>

#include "gui/model/latest_worker.h"
#include "traces/store/query.h"

namespace lanescope::gui {

struct Ui;

// Holds the text and the last answer; the statement runs on a thread of its own, read-only. Belongs to the UI
// thread.
class SqlConsole {
 public:
  explicit SqlConsole(std::function<void()> wake);
  void Draw(const Ui& ui);
  bool busy() const { return worker_.busy(); }

  // For tests.
  void SetText(std::string text) { text_ = std::move(text); }
  void Run(const std::string& path);
  const traces::QueryResult& result() const { return result_; }
  const std::string& error() const { return error_; }

 private:
  struct Request {
    std::string path, sql;
  };
  void TakeResult();
  void DrawResult(const Ui& ui);

  std::string text_;
  std::string path_;  // of the trace that is asked
  traces::QueryResult result_;
  int result_number_ = 0;      // columns that were sized by hand keep their widths for this result alone
  std::vector<float> widths_;  // that its columns want; empty: not measured yet
  std::string error_;
  LatestWorker<Request, traces::QueryResult> worker_;
};

// A SELECT limited to `rows` rows, so that a careless question does not fill the memory. Other statements
// stay as they are.
std::string WithLimit(const std::string& sql, int rows);

}  // namespace lanescope::gui
