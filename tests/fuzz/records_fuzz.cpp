// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as files of every record format, and every record as lines of CSV and as numbers.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exec/readers/decode_csv.h"
#include "exec/readers/decode_raw.h"
#include "exec/readers/reader.h"
#include "tests/fuzz/hostile.h"
#include "tests/fuzz/scratch_folder.h"

namespace lanescope {
namespace {

void Decode(const std::string& text) {
  const Tensor line = Tensor::FromValues<std::string>(Shape{1}, {text});
  exec::CsvColumns columns;
  columns.na_value = "NA";
  columns.defaults = {Tensor::Scalar<int32_t>(1), Tensor::Scalar<std::string>("d"),
                      Tensor(DataType::kFloat, Shape{0})};
  Try([&] { exec::DecodeCsv(line, columns); });
  columns.syntax.use_quotes = false;
  columns.select = {0, 2, 3};
  Try([&] { exec::DecodeCsv(line, columns); });
  for (const DataType type : {DataType::kUint8, DataType::kInt32, DataType::kComplex64, DataType::kString}) {
    Try([&] { exec::DecodeRaw(line, type, text.size() % 2 == 0); });
  }
}

std::vector<exec::Reader> Readers() {
  using exec::Compression;
  std::vector<exec::Reader> readers;
  readers.emplace_back(exec::TextLines(1));
  readers.emplace_back(exec::WholeFiles());
  for (const Compression compression : {Compression::kNone, Compression::kZlib, Compression::kGzip}) {
    readers.emplace_back(exec::TfRecords(compression));
    readers.emplace_back(exec::FixedLengthRecords({2, 7, 3, 5, compression}));
  }
  return readers;
}

void TryAll(std::string_view bytes) {
  static const ScratchFolder folder;
  const std::string path = folder.Write("records", bytes);
  for (exec::Reader& reader : Readers()) {
    Try([&] { reader.StartWork(path); });
    exec::Record record;
    int64_t records = 0;
    Try([&] {
      while (reader.Next(&record) && ++records < 1000) Decode(record.value);
    });
    // Even after an error the next file is read.
    reader.Reset();
    Try([&] { reader.StartWork(path); });
  }
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryAll({reinterpret_cast<const char*>(data), size});
  return 0;
}
