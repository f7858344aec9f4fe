// SPDX-License-Identifier: Apache-2.0
// How fast a trace of PyTorch's profiler is imported, and its events alone are read, in bytes a second of one
// processor, beside how fast simdjson parses the same bytes. Goal: 170 MB/s and 64 MB where a plain reading
// of them reaches 400 MB/s.
#include "traces/import/import.h"

#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <simdjson.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "bench/scratch_folder.h"
#include "traces/import/event_sieve.h"
#include "traces/import/gzip_stream.h"

namespace lanescope::traces {
namespace {

// As PyTorch 2 lays events out: of each operator a range with shapes, the call, the kernel and two arrows.
std::string TraceOf(int64_t kernels) {
  const std::string path = (bench::ScratchFolder() / fmt::format("kineto_{}.json", kernels)).string();
  if (std::filesystem::exists(path)) return path;
  std::ofstream file(path);
  file << "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n";
  for (int64_t i = 0; i < kernels; ++i) {
    const int64_t time = 1'661'203'462'000'000 + 20 * i;
    file << fmt::format(
        "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_{0}\", \"pid\": 4711, \"tid\": "
        "4711,\n"
        "    \"ts\": {1}, \"dur\": 15,\n    \"args\": {{\n      \"External id\": {2},\n"
        "      \"Input Dims\": [[{3}, 512], [512, 512], [], []], \"Input type\": [\"float\", \"float\", "
        "\"Scalar\", \"\"], \"Fwd thread id\": 0, \"Sequence number\": {2}, \"Call stack\": \"\"\n    }}\n  "
        "}},\n",
        i % 50, time, i + 1, i % 40);
    file << fmt::format(
        "  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 4711, "
        "\"tid\": 4711,\n    \"ts\": {0}, \"dur\": 6,\n    \"args\": {{\n      \"cbid\": 211, "
        "\"correlation\": {1},\n"
        "      \"External id\": {1}\n    }}\n  }},\n",
        time + 4, i + 1);
    for (const char* end : {"s", "f"}) {
      file << fmt::format(
          "  {{\n    \"ph\": \"{}\", \"id\": {}, \"pid\": 4711, \"tid\": 4711, \"ts\": {},\n"
          "    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }},\n",
          end, i + 1, time + 4);
    }
    file << fmt::format(
        "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::elementwise_kernel<{0}, "
        "4, "
        "at::native::CUDAFunctor_add<float>>(int, at::native::CUDAFunctor_add<float>)\", \"pid\": 0, "
        "\"tid\": 7,\n"
        "    \"ts\": {1}, \"dur\": 9,\n    \"args\": {{\n      \"External id\": {2}, \"device\": 0, "
        "\"context\": 1, "
        "\"stream\": 7, \"correlation\": {2},\n      \"registers per thread\": 32, \"shared memory\": 0,\n"
        "      \"grid\": [{3}, 1, 1], \"block\": [128, 1, 1]\n    }}\n  }}{4}\n",
        i % 30, time + 9, i + 1, 1 + i % 20, i + 1 < kernels ? "," : "");
  }
  file << "  ]\n}\n";
  return path;
}

void SetBytes(benchmark::State& state, const std::string& path) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(std::filesystem::file_size(path)));
}

// range(0): kernels.
void Import(benchmark::State& state) {
  const std::string path = TraceOf(state.range(0)), out = (bench::ScratchFolder() / "out.db").string();
  for (auto _ : state) {
    std::filesystem::remove(out);
    benchmark::DoNotOptimize(ImportTraces({path}, out));
  }
  SetBytes(state, path);
}

void ReadEvents(benchmark::State& state) {
  const std::string path = TraceOf(state.range(0));
  for (auto _ : state) {
    GzipBuffer file(path, [](int64_t) {});
    int64_t fields = 0;
    EventSieve sieve(
        &file, [&](const ChromeEvent& event) { fields += event.has_args ? 1 : 0; }, [](int64_t) {});
    while (sieve.sbumpc() != EOF) {
    }
    benchmark::DoNotOptimize(fields);
  }
  SetBytes(state, path);
}

void ParseBySimdjson(benchmark::State& state) {
  const std::string path = TraceOf(state.range(0));
  simdjson::dom::parser parser;
  for (auto _ : state) benchmark::DoNotOptimize(parser.load(path).error());
  SetBytes(state, path);
}

BENCHMARK(Import)->Arg(150'000)->Unit(benchmark::kMillisecond);
BENCHMARK(ReadEvents)->Arg(150'000)->Unit(benchmark::kMillisecond);
BENCHMARK(ParseBySimdjson)->Arg(150'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lanescope::traces
