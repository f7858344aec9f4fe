// SPDX-License-Identifier: Apache-2.0
// Files of other tools, imported.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "tests/traces/sample_run.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"

namespace lanescope::traces {

struct Imported {
  ImportCounts counts;
  TraceRun run;
  Summary summary;
};

// The import of a file.
inline Imported ImportOf(const std::string& path) {
  ScratchFile out("out.db");
  Imported imported;
  imported.counts = ImportTraces({path}, out.path());
  imported.run = TraceReader(out.path()).ReadRun(1);
  imported.summary = Summarize(out.path(), 1);
  return imported;
}

// With which code the import of a file is refused, in a message that has `text`, and nothing is left of it.
inline Code CodeOfImport(const std::string& path, const std::string& text = "") {
  ScratchFile out("out.db");
  try {
    ImportTraces({path}, out.path());
  } catch (const Error& error) {
    EXPECT_FALSE(std::filesystem::exists(out.path()));
    EXPECT_THAT(error.message(), testing::HasSubstr(text));
    return error.code();
  }
  return Code::kUnknown;
}

}  // namespace lanescope::traces
