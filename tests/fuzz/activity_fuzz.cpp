// SPDX-License-Identifier: Apache-2.0
// Hostile bytes for what reads captured activities: the decoder of CUPTI's buffers, in the version that the
// last byte chooses, and the decoder of batches that other processes send. Built like graph_fuzz.cpp.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "profiler/activity_decoder.h"
#include "profiler/batch_codec.h"
#include "tests/profiler/stub_library.h"

namespace lanescope {
namespace {

// Every text number is one of the batch.
void Check(const traces::ActivityBatch& batch) {
  traces::ForEachTable(batch, [&](const auto& rows) {
    for (const auto& row : rows) {
      traces::ForEachText(row, [&](traces::TextId text) {
        if (text >= batch.texts.size()) std::abort();
      });
    }
  });
}

void TryBuffer(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const uint32_t version = profiler::kCuptiVersions[data[size - 1] % std::size(profiler::kCuptiVersions)];
  std::vector<uint8_t> buffer(data, data + size - 1);
  traces::ActivityBatch batch;
  profiler::ActivityDecoder(profiler::StubLibrary(version)).Decode(buffer.data(), buffer.size(), &batch);
  Check(batch);
  traces::ActivityBatch read;
  if (!profiler::DecodeBatch(profiler::EncodeBatch(batch), &read)) std::abort();
}

void TryBatch(std::string_view bytes) {
  traces::ActivityBatch batch;
  if (profiler::DecodeBatch(bytes, &batch)) Check(batch);
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryBuffer(data, size);
  lanescope::TryBatch({reinterpret_cast<const char*>(data), size});
  return 0;
}
