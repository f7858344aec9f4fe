// Hostile bytes for what reads captured activities: the decoder of CUPTI's buffers, and the decoder of
// batches that other processes send. Built like graph_fuzz.cpp.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "profiler/activity_decoder.h"
#include "profiler/batch_codec.h"
#include "profiler/cupti_library.h"

namespace lanescope {
namespace {

const CuptiLibrary* Library() {
  static std::string reason;
  static const CuptiLibrary* library = CuptiLibrary::Load("", &reason).release();
  return library;
}

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
  if (Library() == nullptr) return;
  std::vector<uint8_t> buffer(data, data + size);
  ActivityBatch batch;
  ActivityDecoder(*Library()).Decode(buffer.data(), buffer.size(), &batch);
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
