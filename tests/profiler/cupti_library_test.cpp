// SPDX-License-Identifier: Apache-2.0
// A CUPTI is loaded: whether it can be used, and what its records are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/activity_decoder.h"
#include "tests/profiler/stub_library.h"

namespace lanescope::profiler {
namespace {

std::unique_ptr<CuptiLibrary> Adopt(const cupti::Functions& functions, std::string* reason) {
  return CuptiLibrary::Adopt(functions, "libstub.so", reason);
}

// Why CUPTI `kVersion` is not taken.
template <uint32_t kVersion>
std::string Refusal() {
  std::string reason;
  EXPECT_EQ(Adopt(StubFunctionsOf<kVersion>(), &reason), nullptr);
  return reason;
}

TEST(CuptiLibraryTest, EveryKnownVersionIsTakenWithAllItsKinds) {
  for (const uint32_t version : kCuptiVersions) {
    const CuptiLibrary& library = StubLibrary(version);
    EXPECT_EQ(library.version(), version);
    for (const KnownSize& known : kKnownSizes) {
      EXPECT_TRUE(library.CanRead(known.kind)) << version << " " << known.kind;
      EXPECT_EQ(library.RecordSize(known.kind), KnownBytes(known.kind, version)) << version;
    }
  }
}

TEST(CuptiLibraryTest, OlderAndUnknownVersionsAreRefusedInOneLine) {
  EXPECT_EQ(Refusal<19>(), "libstub.so is CUPTI of CUDA 12.0: that of CUDA 12.2 or later is needed");
  EXPECT_EQ(Refusal<18>(), "libstub.so is CUPTI of CUDA 11.8: that of CUDA 12.2 or later is needed");
  EXPECT_EQ(Refusal<140000>(), "libstub.so is CUPTI of CUDA 14.0: those of CUDA 12.2 to 13 are known");
  cupti::Functions mute = StubFunctionsOf<kNewestCupti>();
  mute.GetVersion = [](uint32_t*) { return static_cast<cupti::Result>(999); };
  std::string reason;
  EXPECT_EQ(Adopt(mute, &reason), nullptr);
  EXPECT_EQ(reason, "libstub.so does not say its version: CUPTI_ERROR_STUB");
}

TEST(CuptiLibraryTest, WhatAVersionCannotDoIsSaid) {
  for (const uint32_t version : {20u, 21u, 22u}) {
    EXPECT_FALSE(StubLibrary(version).CanChooseCalls());
    EXPECT_THAT(StubLibrary(version).limits(),
                testing::Contains(testing::HasSubstr("cannot record single calls")));
  }
  EXPECT_THAT(StubLibrary(22).limits(), testing::Contains(testing::HasSubstr("12.4 update 1")));
  for (const uint32_t version : kCuptiVersions) {
    EXPECT_EQ(StubLibrary(version).limits().empty(), version >= kCupti12_5) << version;
    EXPECT_EQ(StubLibrary(version).CanGoWithoutBuffer(), version >= kCupti12_9) << version;
  }
}

// A version of CUDA 13 that nobody has seen, where records grew by 16 bytes.
template <uint32_t kVersion, int kMore>
cupti::Functions Grown() {
  cupti::Functions functions = StubFunctionsOf<kVersion>();
  functions.GetNextRecord = [](uint8_t* buffer, size_t bytes, void** record) {
    return NextStubRecord(buffer, bytes, record, [](int32_t kind) {
      const size_t size = StubRecordBytes(kind, kVersion);
      const bool other = kind == cupti::kConcurrentKernel || kind == cupti::kNvlink;
      return size == 0 || !other ? size : static_cast<size_t>(static_cast<int>(size) + kMore);
    });
  };
  return functions;
}

TEST(CuptiLibraryTest, LongerRecordsOfALaterVersionAreReadByTheirKnownFields) {
  std::string reason;
  const auto library = Adopt(Grown<130700, 16>(), &reason);
  ASSERT_NE(library, nullptr) << reason;
  EXPECT_EQ(library->limits(),
            std::vector<std::string>{
                "CUPTI of CUDA 13.7 is newer than this program knows: records are read as those "
                "of 13.5, what was appended to kinds 10, 40 is left out"});
  EXPECT_EQ(library->RecordSize(cupti::kConcurrentKernel), 264u);
  MadeRecord first = KernelRecord("first", 1, 2, 3), second = KernelRecord("second", 3, 4, 5);
  RecordBuffer buffer;
  buffer.Add(first);
  buffer.bytes().resize(264, 0xff);
  buffer.Add(second);
  buffer.bytes().resize(528, 0xff);
  traces::ActivityBatch batch;
  ActivityDecoder(*library).Decode(buffer.data(), buffer.size(), &batch);
  ASSERT_EQ(batch.kernels.size(), 2u);
  EXPECT_EQ(batch.texts[batch.kernels[1].name], "second");
  EXPECT_EQ(batch.losses[static_cast<size_t>(traces::Loss::kMalformed)], 0);
}

TEST(CuptiLibraryTest, ShorterRecordsAreOtherRecords) {
  std::string reason;
  EXPECT_EQ(Adopt(Grown<20, -8>(), &reason), nullptr);
  EXPECT_EQ(reason,
            "libstub.so (CUPTI of CUDA 12.2) has other records of kernels than are known, of 200 bytes");

  // Kernels of 13.5 lose nothing that is read when 8 of their bytes go; links do.
  const auto library = Adopt(Grown<130600, -8>(), &reason);
  ASSERT_NE(library, nullptr) << reason;
  EXPECT_FALSE(library->CanRead(cupti::kNvlink));
  EXPECT_THAT(library->limits(),
              testing::Contains("CUPTI of CUDA 13.6 has unknown records of kinds 40, which are left out"));
  // Skipped by their measured size.
  RecordBuffer buffer;
  const int32_t link = cupti::kNvlink;
  buffer.bytes().resize(80);
  std::memcpy(buffer.data(), &link, sizeof(link));
  buffer.Add(MadeRecord(cupti::kStream));
  traces::ActivityBatch batch;
  ActivityDecoder(*library).Decode(buffer.data(), buffer.size(), &batch);
  EXPECT_EQ(traces::NumRows(batch), 1u);
  EXPECT_EQ(batch.streams.size(), 1u);
}

TEST(CuptiLibraryTest, WhatCannotBeMeasuredIsTakenFromTheVersionOrRefused) {
  std::string reason;
  const auto none = [](uint8_t*, size_t, void**) { return cupti::kNotInitialized; };
  cupti::Functions known = StubFunctionsOf<24>(), unknown = StubFunctionsOf<130600>();
  known.GetNextRecord = unknown.GetNextRecord = none;
  const auto library = Adopt(known, &reason);
  ASSERT_NE(library, nullptr) << reason;
  EXPECT_EQ(library->RecordSize(cupti::kMemcpy), 88u);
  EXPECT_EQ(Adopt(unknown, &reason), nullptr);
  EXPECT_THAT(reason, testing::HasSubstr("other records of kernels than are known, of 0 bytes"));
}

}  // namespace
}  // namespace lanescope::profiler
