// SPDX-License-Identifier: Apache-2.0
// Records of a file in the page cache, and lines of CSV. Goals: TFRecord over 1 GB/s, CSV over 200 MB/s.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/base/crc32c.h"
#include "core/base/file.h"
#include "exec/readers/decode_csv.h"
#include "exec/readers/reader.h"

namespace lanescope::exec {
namespace {

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

// 64 MB, by bytes a record.
void BM_TfRecords(benchmark::State& state) {
  const std::string data(static_cast<size_t>(state.range(0)), 'x');
  const std::string length = LittleEndian(data.size(), 8);
  const std::string record =
      length + LittleEndian(MaskedCrc32c(length), 4) + data + LittleEndian(MaskedCrc32c(data), 4);
  std::string bytes;
  while (bytes.size() < 64'000'000) bytes += record;
  const std::string path =
      (std::filesystem::temp_directory_path() / ("lanescope-bench-" + std::to_string(getpid()))).string();
  WriteFile(path, bytes);
  Reader reader(TfRecords(Compression::kNone));
  Record got;
  for (auto _ : state) {
    reader.StartWork(path);
    while (reader.Next(&got)) benchmark::DoNotOptimize(got.value.data());
  }
  std::filesystem::remove(path);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
  state.SetItemsProcessed(reader.records_produced());
}
BENCHMARK(BM_TfRecords)->ArgName("record")->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

// Ten columns: numbers, or text in quotes.
void BM_DecodeCsv(benchmark::State& state) {
  constexpr int64_t kLines = 10'000, kColumns = 10;
  const bool is_text = state.range(0) != 0;
  Tensor lines(DataType::kString, Shape{kLines});
  CsvColumns columns;
  columns.defaults.assign(kColumns, is_text ? Tensor::Scalar<std::string>("") : Tensor::Scalar(0.0f));
  for (int64_t l = 0; l < kLines; ++l) {
    std::string& line = lines.data<std::string>()[l];
    for (int64_t c = 0; c < kColumns; ++c) {
      if (c > 0) line += ',';
      line += is_text ? fmt::format("\"a text, number {}\"", l * c)
                      : fmt::format("{}.{:04}", l % 97, c * l % 9973);
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(DecodeCsv(lines, columns).data());
  state.SetBytesProcessed(state.iterations() * (lines.ByteSize() + kLines));
}
BENCHMARK(BM_DecodeCsv)->ArgName("text")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lanescope::exec
