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
void Check(const ActivityBatch& batch) {
  ForEachTable(batch, [&](const auto& rows) {
    for (const auto& row : rows) {
      ForEachText(row, [&](TextId text) {
        if (text >= batch.texts.size()) std::abort();
      });
    }
  });
}

void TryBuffer(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const uint32_t version = kCuptiVersions[data[size - 1] % std::size(kCuptiVersions)];
  std::vector<uint8_t> buffer(data, data + size - 1);
  ActivityBatch batch;
  ActivityDecoder(StubLibrary(version)).Decode(buffer.data(), buffer.size(), &batch);
  Check(batch);
  ActivityBatch read;
  if (!DecodeBatch(EncodeBatch(batch), &read)) std::abort();
}

void TryBatch(std::string_view bytes) {
  ActivityBatch batch;
  if (DecodeBatch(bytes, &batch)) Check(batch);
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryBuffer(data, size);
  lanescope::TryBatch({reinterpret_cast<const char*>(data), size});
  return 0;
}
