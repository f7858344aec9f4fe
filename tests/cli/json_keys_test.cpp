// SPDX-License-Identifier: Apache-2.0
// The keys of all that --json prints are those of docs/reference/cli.md, no more and no fewer.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

// The document's words for a value: "name", "name{keys}", "name[{keys}]"; "*": any name.
struct Keys {
  struct Key {
    bool optional = false;
    std::shared_ptr<Keys> inside;  // null: nothing is said of what is in it
    bool seen = false;
  };
  std::map<std::string, Key> keys;
};

class KeysReader {
 public:
  explicit KeysReader(const std::map<std::string, std::string>& lists) : lists_(lists) {}

  std::shared_ptr<Keys> Read(const std::string& text) {
    auto keys = std::make_shared<Keys>();
    size_t at = 0;
    ReadList(text, &at, keys.get());
    EXPECT_EQ(at, text.size()) << text;
    return keys;
  }

 private:
  static bool IsName(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '*';
  }
  static bool Take(const std::string& text, size_t* at, char c) {
    if (*at >= text.size() || text[*at] != c) return false;
    ++*at;
    return true;
  }

  void ReadList(const std::string& text, size_t* at, Keys* keys) {
    do {
      while (Take(text, at, ' ')) {
      }
      std::string name;
      while (*at < text.size() && IsName(text[*at])) name += text[(*at)++];
      if (const auto list = lists_.find(name); list != lists_.end()) {
        size_t inner = 0;
        ReadList(Bare(list->second), &inner, keys);
        continue;
      }
      EXPECT_FALSE(name.empty()) << text.substr(*at);
      Keys::Key& key = keys->keys[name];
      key.optional = Take(text, at, '?');
      if (Take(text, at, '[')) {
        key.inside = ReadInside(text, at);
        EXPECT_TRUE(Take(text, at, ']')) << text.substr(*at);
      } else if (*at < text.size() && text[*at] == '{') {
        key.inside = ReadInside(text, at);
      }
    } while (Take(text, at, ','));
  }

  // "{keys}", or the name of such a list; null for none.
  std::shared_ptr<Keys> ReadInside(const std::string& text, size_t* at) {
    auto keys = std::make_shared<Keys>();
    if (Take(text, at, '{')) {
      ReadList(text, at, keys.get());
      EXPECT_TRUE(Take(text, at, '}')) << text.substr(*at);
      return keys;
    }
    if (*at < text.size() && IsName(text[*at])) {
      ReadList(text, at, keys.get());
      return keys;
    }
    return nullptr;
  }

  static std::string Bare(const std::string& list) {
    return list.starts_with('{') ? list.substr(1, list.size() - 2) : list;
  }

  const std::map<std::string, std::string>& lists_;
};

// The lines "NAME: keys" of the document.
std::map<std::string, std::string> DocumentedLines() {
  std::istringstream lines(ReadText(test::SourceDir() + "/docs/reference/cli.md"));
  std::map<std::string, std::string> found;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) inside = line == "```json-keys";
    const size_t colon = line.find(": ");
    if (inside && colon != std::string::npos) found[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return found;
}

void Check(const json& value, Keys* keys, const std::string& where) {
  if (value.is_array()) {
    for (const json& item : value) Check(item, keys, where + "[]");
    return;
  }
  if (!value.is_object()) return;
  const auto any = keys->keys.find("*");
  for (const auto& [name, inside] : value.items()) {
    auto key = keys->keys.find(name);
    if (key == keys->keys.end()) key = any;
    if (key == keys->keys.end()) {
      ADD_FAILURE() << where << "." << name << " is not documented";
      continue;
    }
    key->second.seen = true;
    if (key->second.inside != nullptr) Check(inside, key->second.inside.get(), where + "." + name);
  }
  for (const auto& [name, key] : keys->keys) {
    EXPECT_TRUE(key.optional || name == "*" || value.contains(name)) << where << "." << name << " is missing";
  }
}

// That none is documented in vain: of objects that appeared every key did. Commands are timed on GPUs alone,
// whose tests read `timing` (gpus_test.cpp).
void ExpectSeen(const Keys& keys, const std::string& where) {
  const bool any = std::ranges::any_of(keys.keys, [](const auto& key) { return key.second.seen; });
  if (!any) return;
  for (const auto& [name, key] : keys.keys) {
    if (name == "timing") continue;
    EXPECT_TRUE(key.seen || name == "*") << where << "." << name << " appears nowhere";
    if (key.inside != nullptr) ExpectSeen(*key.inside, where + "." + name);
  }
}

constexpr const char* kKineto = R"json({"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 50},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 4,
 "args": {"correlation": 1}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 5, "dur": 5,
 "args": {"device": 0, "stream": 7, "correlation": 3, "bytes": 64}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 30,
 "args": {"device": 0, "stream": 7, "correlation": 1}}]})json";

constexpr const char* kRank = R"json({"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "ncclKernel", "pid": 0, "tid": 7, "ts": 20, "dur": 30,
 "args": {"device": 0, "stream": 7, "correlation": 1, "Collective name": "allreduce", "In msg nelems": 8,
 "Out msg nelems": 8, "Group size": 2, "dtype": "Float"}}]})json";

// A step of a serving engine, with a line of Python and a module.
constexpr const char* kServed = R"json({"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "step[EXTEND bs=3 toks=12]", "pid": 1, "tid": 1, "ts": 0, "dur": 50},
{"ph": "X", "cat": "python_function", "name": "serve.py(12): forward", "pid": 1, "tid": 1, "ts": 2, "dur": 20},
{"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 1, "tid": 1, "ts": 5, "dur": 15},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 4,
 "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 30,
 "args": {"device": 0, "stream": 7, "correlation": 1}}]})json";

TEST(JsonKeys, AreThoseOfTheDocument) {
  Folder folder;
  const std::string trace = folder.File("t.db"), foreign = folder.File("f.sqlite"),
                    graph = Sample("polynomial");
  const std::string machine = SampleMachine("k80x2");
  const std::string of_h100 = test::SourceDir() + "/samples/traces/mlp-h100-eager.json.gz";
  ASSERT_EQ(Lanescope({"import", folder.Write("k.json", kKineto), "-o", foreign}).status, 0);
  const std::string served = folder.File("served.sqlite");
  ASSERT_EQ(Lanescope({"import", folder.Write("s.json", kServed), "-o", served}).status, 0);
  const std::string ranks = folder.File("ranks.sqlite");
  ASSERT_EQ(
      Lanescope({"import", folder.Write("a.json", kRank), folder.Write("b.json", kRank), "-o", ranks}).status,
      0);
  ASSERT_EQ(Lanescope({"simulate", graph, "--machine", machine, "--trace", trace}).status, 0);
  const std::string with_input = CsvReader(folder), input_trace = folder.File("i.db"),
                    input_costs = folder.File("i.json");
  ASSERT_EQ(Lanescope({"run", with_input, "--steps", "20", "--trace", input_trace}).status, 0);
  ASSERT_EQ(Lanescope({"calibrate", input_trace, "-o", input_costs}).status, 0);
  const std::string gpt = folder.File("gpt.pb");
  ASSERT_EQ(Lanescope({"make", "gpt", "--layers", "2", "--batch", "4", "--micro-batch", "1", "--tensor", "2",
                       "--fold", "all", "-o", gpt})
                .status,
            0);
  const std::vector<std::vector<std::string>> commands = {
      {"place", graph, "--machine", machine},
      {"run", graph, "--steps", "3", "--strategy", "alternating", "--trace", trace},
      {"run", with_input, "--steps", "3"},
      {"run", graph, "--steps", "3", "--replicas", "--in-graph"},
      {"simulate", with_input, "--cost", input_costs},
      {"compare", with_input, "--strategies", "annotated", "--steps", "5", "--rounds", "1", "--warmup", "0"},
      {"summary", input_trace},
      {"simulate", graph, "--machine", machine, "--strategy", "single,alternating", "--ablate", "--sweep",
       "link.bandwidth=0.01GB/s..100GB/s"},
      {"simulate", foreign, "--set", "kernel:gemm.speed=2"},
      {"simulate", of_h100, "--set", "gpu=h200"},
      {"search", graph, "--machine", machine, "--rounds", "1"},
      {"search", gpt},
      {"simulate", gpt, "--machine", SampleMachine("dgx-h100")},
      {"compare", graph + ":single,alternating", "--no-run", "--machine", machine},
      {"compare", graph + ":single,alternating", "--steps", "3"},
      {"summary", trace, "--run", "2"},
      {"summary", foreign, "--step", "1"},
      {"summary", foreign, "--by", "nvtx"},
      {"summary", served, "--by", "module"},
      {"summary", served, "--by", "line"},
      {"summary", foreign, "--format", "nsys"},
      {"summary", ranks, "--by", "rank"},
      {"diff", trace, "1", "2"},
      {"explain", trace, "1", "2"},
      {"gate", Sample("deepconn_dual"), Sample("deepconn_alternating"), "--machine", machine, "--budget",
       "100%"},
      {"explain", foreign, "--set", "kernel:gemm.speed=2"},
      {"query", trace, "SELECT 1 AS a UNION SELECT 2", "--limit", "1"}};
  std::map<std::string, std::string> lines = DocumentedLines();
  std::map<std::string, std::string> lists;
  std::map<std::string, std::shared_ptr<Keys>> documented;
  for (const auto& [name, keys] : lines) {
    if (std::isupper(static_cast<unsigned char>(name[0])) != 0) lists[name] = keys;
  }
  KeysReader reader(lists);
  for (const auto& [name, keys] : lines) {
    if (!lists.contains(name)) documented[name] = reader.Read(keys);
  }
  std::set<std::string> checked;
  for (std::vector<std::string> command : commands) {
    command.push_back("--json");
    // A trace has other keys than a graph, and an ensemble other ones than a run.
    const bool of_ensemble = std::ranges::count(command, "--replicas") > 0;
    const bool of_trace = command[1] == foreign || command[1] == of_h100;
    const std::string name = command[0] == "simulate" && of_trace          ? "simulate-trace"
                             : command[0] == "search" && command[1] == gpt ? "search-gpt"
                             : of_ensemble                                 ? "run-replicas"
                                                                           : command[0];
    ASSERT_TRUE(documented.contains(name)) << name << " is not documented";
    Check(LanescopeJson(command), documented[name].get(), name);
    checked.insert(name);
  }
  for (const auto& [name, keys] : documented) {
    EXPECT_TRUE(checked.contains(name)) << name << " is documented, but not checked";
    ExpectSeen(*keys, name);
  }
}

}  // namespace
}  // namespace lanescope::cli
