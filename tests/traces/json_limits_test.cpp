// SPDX-License-Identifier: Apache-2.0
#include "traces/import/json_limits.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <string>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "tests/traces/sample_run.h"
#include "traces/import/import_trace.h"

namespace lanescope::traces {
namespace {

using testing::HasSubstr;

constexpr std::string_view kOneKernel =
    R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1})";

// `first`, `times` times `piece`, and `last`, compressed: few bytes on the disk.
std::string CompressedTrace(const ScratchFile& file, std::string_view first, const std::string& piece,
                            int64_t times, std::string_view last) {
  const std::string path = file.path() + ".json.gz";
  const gzFile out = gzopen(path.c_str(), "wb1");
  const auto write = [&](std::string_view text) {
    if (!text.empty()) gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  };
  write(first);
  for (int64_t i = 0; i < times; ++i) write(piece);
  write(last);
  gzclose(out);
  return path;
}

constexpr int64_t kTooManyPieces = (kMostEventBytes >> 20) + 1;
const std::string& FillerOf(char of) {
  static std::string piece;
  return piece.assign(size_t{1} << 20, of);
}

TEST(JsonLimitsTest, TooMuchWithoutAnEventIsRefused) {
  const ScratchFile file("endless");
  const std::string list = R"({"traceEvents": [)";
  struct Case {
    std::string first;
    char filler;
  };
  for (const auto& [first, filler] :
       {Case{list, ' '}, Case{"", '\n'}, Case{list + R"({"name": ")", 'a'}, Case{R"({"name": ")", 'a'},
        Case{list + "1", '0'}, Case{list + std::string(kOneKernel) + ",", ' '}, Case{list + R"({")", 'k'}}) {
    const std::string path = CompressedTrace(file, first, FillerOf(filler), kTooManyPieces, "");
    EXPECT_EQ(CodeOfImport(path, "over 16 MiB without the end of an event"), Code::kInvalidArgument) << first;
  }
}

TEST(JsonLimitsTest, TooManyValuesWithoutAnEventAreRefused) {
  const ScratchFile file("many");
  for (const std::string first : {"[[", R"({"deviceProperties": [)", R"({"traceEvents": [)"}) {
    for (const std::string value : {"1,", "[],", "{},"}) {
      if (first.find("Events") != std::string::npos && value == "{},") continue;  // these are events
      const std::string path = CompressedTrace(file, first, value, kMostEventValues + 1, "1");
      EXPECT_EQ(CodeOfImport(path, "over 262144 values without the end of an event"), Code::kInvalidArgument)
          << first << value;
    }
  }
}

TEST(JsonLimitsTest, TooDeepIsRefused) {
  const ScratchFile file("deep");
  for (const std::string first : {"", R"({"traceEvents": [{"args": )", R"({"deviceProperties": )"}) {
    const std::string path = CompressedTrace(file, first, "[", 1000, "");
    EXPECT_EQ(CodeOfImport(path, "lie over 100 deep in each other"), Code::kInvalidArgument) << first;
  }
}

// As many bytes as are refused within one event are fine in several; what nobody asks for is not kept.
TEST(JsonLimitsTest, LargeTracesAreRead) {
  const ScratchFile file("large");
  const std::string blanks(kMostEventBytes / 4, ' ');
  const std::string path =
      CompressedTrace(file, R"({"other": [[1, {"a": 2}], [3]], "traceEvents": [1, [2], )",
                      std::string(kOneKernel) + "," + blanks, 8, std::string(kOneKernel) + "]}");
  EXPECT_EQ(ImportOf(path).counts.kernels, 9);
}

TEST(JsonLimitsTest, ReadingEndsSoonAfterItIsCancelled) {
  const ScratchFile file("cancelled");
  std::atomic<bool> cancelled{true};
  JsonLimits limits(file.path(), &cancelled);
  try {
    limits.Read(1);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCancelled);
  }
}

TEST(ImportNamesTest, DifferentTextsHaveALimit) {
  ImportTrace trace;
  ImportNames names(&trace, 4);
  EXPECT_EQ(names.Intern("ab"), 0);
  EXPECT_EQ(names.Intern("ab"), 0);
  EXPECT_EQ(names.Intern("cd"), 1);
  try {
    names.Intern("e");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    EXPECT_THAT(error.message(), HasSubstr("too many different names"));
  }
}

}  // namespace
}  // namespace lanescope::traces
