// SPDX-License-Identifier: Apache-2.0
// Texts of files, programs and arguments that would command a terminal do not reach it.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

// A colour, the one-character CSI, a bell, a title, DEL, an override of direction.
constexpr std::string_view kEvil =
    "evil\x1b[31m\xc2\x9b"
    "2J\x07\x1b]0;t\x07\x7f\xe2\x80\xae";
// The evil text as protobuf text and JSON write it.
constexpr std::string_view kEvilText = "evil\\033[31m\\302\\2332J\\007\\033]0;t\\007\\177\\342\\200\\256";
constexpr std::string_view kEvilJson = "evil\\u001b[31m\\u009b2J\\u0007\\u001b]0;t\\u0007\\u007f\\u202e";

// Empty: a terminal shows it as it is. What is no UTF-8 counts too.
std::string CommandsIn(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) return fmt::format("byte {:#x}", byte);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == 0xc2 && next < 0xa0) return fmt::format("C1 {:#x}", next);
  }
  for (const char* turn : {"\xe2\x80\xae", "\xe2\x80\xad", "\xe2\x81\xa6", "\xd8\x9c"}) {
    if (text.find(turn) != std::string::npos) return "a change of direction";
  }
  try {
    json(text).dump();
  } catch (const json::exception&) {
    return "bytes that are no UTF-8";
  }
  return "";
}

Outcome ExpectHarmless(const std::vector<std::string>& arguments) {
  const Outcome outcome = Lanescope(arguments);
  EXPECT_EQ(CommandsIn(outcome.output), "") << arguments[0] << "\n" << outcome.output;
  EXPECT_EQ(CommandsIn(outcome.errors), "") << arguments[0] << "\n" << outcome.errors;
  return outcome;
}

// Something evil must have been there to show, or the test says nothing.
void ExpectShown(const std::vector<std::string>& arguments) {
  const Outcome outcome = ExpectHarmless(arguments);
  EXPECT_THAT(outcome.output + outcome.errors, testing::HasSubstr("evil\\x1b[31m\\u009b2J"))
      << arguments[0] << "\n"
      << outcome.errors;
}
// JSON means what it is about.
void ExpectMeant(const std::vector<std::string>& arguments) {
  const Outcome outcome = ExpectHarmless(arguments);
  const json parsed = json::parse(outcome.output, nullptr, false);
  ASSERT_FALSE(parsed.is_discarded()) << arguments[0] << "\n" << outcome.errors;
  EXPECT_THAT(parsed.dump(), testing::HasSubstr(json(kEvil).dump().substr(1, 20))) << arguments[0];
}

class HostileText : public testing::Test {
 protected:
  // A graph of hostile file name and op, which runs; a string that is fetched.
  std::string Graph() {
    const std::string name(kEvil);
    folder_.Write(name + ".run.json", R"({"fetches": ["s:0"]})");
    return folder_.Write(name + ".pbtxt", fmt::format(R"(
        node {{ name: "s" op: "Const" attr {{ key: "dtype" value {{ type: DT_STRING }} }}
               attr {{ key: "value" value {{ tensor {{ dtype: DT_STRING tensor_shape {{ }} string_val: "{}" }} }} }} }})",
                                                      kEvilText));
  }
  std::string GraphOfOp() {
    return folder_.Write("op.pbtxt", fmt::format(R"(node {{ name: "{}" op: "{}" }})", "n", kEvilText));
  }
  std::string GraphOfName() {
    return folder_.Write(
        "name.pbtxt", fmt::format(R"(node {{ name: "{}" op: "NoOp" device: "{}" }})", kEvilText, kEvilText));
  }
  std::string Machine() {
    return folder_.Write("m.json", fmt::format(R"({{"name": "{0}", "devices": [{{"name": "CPU:0"}},
        {{"name": "GPU:0", "model": "{0}", "memory": "1GiB"}}, {{"name": "GPU:1", "memory": "1GiB"}}],
        "links": [{{"between": ["CPU:0", "GPU:0"], "bandwidth": "5GB/s", "latency": "60us", "bus": "{0}"}},
                  {{"between": ["CPU:0", "GPU:1"], "bandwidth": "5GB/s", "latency": "60us", "bus": "{0}"}},
                  {{"between": ["GPU:0", "GPU:1"], "bandwidth": "5GB/s", "latency": "60us"}}],
        "buses": [{{"name": "{0}", "bandwidth": "5GB/s"}}]}})",
                                               kEvilJson));
  }
  // Two runs, by a placement whose file is hostile too.
  std::string Trace() {
    const std::string trace = folder_.File(std::string(kEvil) + ".db");
    for (const char* steps : {"1", "2"})
      EXPECT_EQ(Lanescope({"run", Graph(), "--steps", steps, "--trace", trace}).status, 0);
    return trace;
  }
  std::string Kineto() {
    return folder_.Write("k.json", fmt::format(R"({{"traceEvents": [
        {{"ph": "X", "cat": "user_annotation", "name": "{0}", "pid": 1, "tid": 1, "ts": 1, "dur": 90}},
        {{"ph": "X", "cat": "cuda_runtime", "name": "{0}", "pid": 1, "tid": 1, "ts": 2, "dur": 3, "args": {{"correlation": 7}}}},
        {{"ph": "X", "cat": "kernel", "name": "{0}", "pid": 0, "tid": 7, "ts": 5, "dur": 40,
          "args": {{"device": 0, "stream": 7, "correlation": 7}}}}],
        "deviceProperties": [{{"id": 0, "name": "{0}"}}]}})",
                                               kEvilJson));
  }

  Folder folder_;
};

TEST_F(HostileText, OfGraphs) {
  ExpectShown({"place", Graph()});
  ExpectHarmless({"place", Graph(), "--log-device-placement"});
  ExpectHarmless({"place", Graph(), "--dump-schedule"});
  ExpectShown({"run", Graph(), "--steps", "1"});
  ExpectMeant({"run", Graph(), "--steps", "1", "--json"});
  ExpectShown({"simulate", Graph()});
  ExpectShown({"compare", Graph(), "--no-run"});
  ExpectMeant({"compare", Graph(), "--no-run", "--json"});
  for (const std::string& graph : {GraphOfOp(), GraphOfName()}) {
    for (const char* command : {"place", "run", "simulate"}) ExpectHarmless({command, graph});
    ExpectHarmless({"place", graph, "--json"});
    ExpectHarmless({"place", graph, "--log-device-placement"});
    ExpectHarmless({"place", graph, "--dump-schedule"});
    ExpectHarmless({"run", graph, "--target", "n", "--log-device-placement"});
    ExpectHarmless({"compare", graph, "--no-run"});
  }
}

TEST_F(HostileText, OfMachines) {
  ExpectShown({"devices", "--machine", Machine()});
  ExpectMeant({"devices", "--machine", Machine(), "--json"});
  ExpectShown({"place", Sample("polynomial"), "--machine", Machine()});
  ExpectShown(
      {"run", Sample("polynomial"), "--machine", Machine(), "--steps", "1", "--log-device-placement"});
  ExpectShown({"simulate", Sample("polynomial"), "--machine", Machine()});
  ExpectShown({"compare", Sample("polynomial"), "--machine", Machine(), "--no-run"});
}

TEST_F(HostileText, OfTraces) {
  const std::string trace = Trace();
  ExpectShown({"summary", trace});
  ExpectHarmless({"summary", trace, "--format", "nsys"});
  ExpectShown({"query", trace, "SELECT graph FROM LANESCOPE_RUN"});
  ExpectMeant({"query", trace, "SELECT graph FROM LANESCOPE_RUN", "--json"});
  ExpectShown({"query", trace, fmt::format("SELECT 1 AS \"{}\"", kEvil)});
  ExpectShown({"diff", trace, "1", "2"});
  ExpectMeant({"diff", trace, "1", "2", "--json"});
  ExpectShown({"explain", trace, "1", "2"});
  ExpectHarmless({"explain", trace, "1", "2", "--json"});
  ExpectHarmless({"calibrate", trace, "--no-microbenchmarks"});
}

TEST_F(HostileText, OfOtherToolsTraces) {
  const std::string trace = folder_.File(std::string(kEvil) + ".sqlite");
  ExpectShown({"import", Kineto(), "-o", trace});
  ExpectShown({"summary", trace});
  ExpectShown({"summary", trace, "--by", "nvtx"});
  ExpectShown({"summary", trace, "--format", "nsys"});
  ExpectMeant({"summary", trace, "--json"});
  ExpectShown({"diff", trace + ":1", trace + ":1"});
  ExpectShown({"diff", trace + ":1", trace + ":1", "--by", "nvtx"});
  ExpectShown({"explain", trace + ":1", trace + ":1"});
}

TEST_F(HostileText, OfProgramsAndArguments) {
  const std::string program = folder_.Write("p.sh", fmt::format("printf '{}' >&2; exit 3", kEvilText));
  ExpectShown({"place", Sample("polynomial"), "--strategy", "exec:sh " + program});
  ExpectShown({"compare", Sample("polynomial") + ":single,exec:sh " + program, "--no-run"});
  const std::string missing = folder_.File(std::string(kEvil));
  ExpectShown({"place", missing});
  ExpectShown({"devices", "--machine", missing});
  ExpectShown({"summary", missing});
  ExpectShown({"query", missing, "SELECT 1"});
  ExpectShown({"diff", missing, missing});
  ExpectShown({"import", missing, "-o", folder_.File("o.sqlite")});
  ExpectShown({"calibrate", missing});
  ExpectShown({"gui", missing, "--screenshot", folder_.File("s.png")});
  ExpectShown({"profile", "-o", folder_.File("t.db"), "--", missing});
  ExpectShown({"run", Sample("polynomial"), "--strategy", std::string(kEvil)});
  ExpectShown({std::string(kEvil)});
  ExpectShown({"run", Sample("polynomial"), "--" + std::string(kEvil)});
  ExpectHarmless({"place", folder_.File("\xff\xfe")});
}

// No other file prints past the one way out.
TEST(HostileTextSources, OnlyOneFilePrints) {
  for (const auto& entry : std::filesystem::directory_iterator(lanescope::test::SourceDir() + "/cli")) {
    const std::string name = entry.path().filename().string();
    if (name == "print.cpp" || name == "progress.cpp") continue;
    const std::string text = ReadText(entry.path().string());
    for (const char* way : {"fmt::print(", "std::cout", "std::cerr", "printf(", "fputs(", "fwrite("})
      EXPECT_EQ(text.find(way), std::string::npos) << name << ": " << way;
  }
}

}  // namespace
}  // namespace lanescope::cli
