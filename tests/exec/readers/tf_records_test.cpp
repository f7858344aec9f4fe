// SPDX-License-Identifier: Apache-2.0
// TFRecord files, whole and damaged (cases L31 to L35).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exec/readers/record_files.h"

namespace lanescope::exec {
namespace {

using testing::ElementsAre;

class TfRecordsTest : public RecordFiles {
 protected:
  const std::string good_ = TfRecord("foo") + TfRecord("") + TfRecord("barbar");
};

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

TEST_F(TfRecordsTest, L31ARecordIsLengthDataAndTheirChecksums) {
  EXPECT_EQ(Hex(TfRecord("foo")), "0300000000000000b099490e666f6f618abefe");
}

TEST_F(TfRecordsTest, L33ChecksumsAreCastagnolis) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(MaskedCrc32c("123456789"), 0xc78ab0e5u);
  // Bit by bit, for every remainder of a length by 8.
  std::string bytes;
  for (int length = 0; length < 40; ++length) {
    uint32_t crc = ~0u;
    for (const char c : bytes) {
      crc ^= static_cast<uint8_t>(c);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0u);
    }
    EXPECT_EQ(Crc32c(bytes), ~crc) << length;
    EXPECT_EQ(PortableCrc32c(bytes), ~crc) << length;
    bytes += static_cast<char>(37 * length + 200);
  }
}

TEST_F(TfRecordsTest, KeysAreOffsets) {
  Reader reader(TfRecords(Compression::kNone));
  EXPECT_THAT(ReadAll(&reader, {File("t", good_), Path("t")}),
              ElementsAre("t:0=foo", "t:19=", "t:35=barbar", "t:0=foo", "t:19=", "t:35=barbar"));
  EXPECT_EQ(reader.work_units_completed(), 2);
}

TEST_F(TfRecordsTest, L35DamageIsToldOnceAndTheNextFileIsRead) {
  File("t", TfRecord("foo"));
  const auto read = [&](std::string bytes) {
    return ReadAll(TfRecords(Compression::kNone), {File("x", bytes), Path("t")});
  };
  std::string flipped = good_;
  flipped[13] ^= 1;
  EXPECT_THAT(read(flipped), ElementsAre("DataLoss: corrupted record at 12", "t:0=foo"));
  flipped = good_;
  flipped[0] ^= 1;
  EXPECT_THAT(read(flipped),
              ElementsAre("DataLoss: corrupted record at 0 (Is this even a TFRecord file?)", "t:0=foo"));
  flipped = good_;
  flipped[35 + 12] ^= 1;
  EXPECT_THAT(read(flipped), ElementsAre("x:0=foo", "x:19=", "DataLoss: corrupted record at 47", "t:0=foo"));
  for (const size_t cut : {1, 6, 11, 14, 20}) {
    const std::string text = good_.substr(0, good_.size() - cut);
    EXPECT_THAT(read(text), ElementsAre("x:0=foo", "x:19=", "DataLoss: truncated record at 35", "t:0=foo"))
        << cut;
  }
}

TEST_F(TfRecordsTest, AHugeLengthTakesNoMemory) {
  for (const uint64_t huge : {uint64_t{1} << 60, ~uint64_t{0}, ~uint64_t{0} - 3, (uint64_t{1} << 63) - 5}) {
    const std::string length = LittleEndian(huge, 8);
    EXPECT_THAT(ReadAll(TfRecords(Compression::kNone),
                        {File("t", length + LittleEndian(MaskedCrc32c(length), 4) + "x")}),
                ElementsAre("DataLoss: truncated record at 0"));
  }
}

TEST_F(TfRecordsTest, FilesMayBeCompressed) {
  for (const Compression compression : {Compression::kZlib, Compression::kGzip}) {
    const std::string packed = Packed(good_, compression);
    File("z", packed);
    EXPECT_THAT(ReadAll(TfRecords(compression), {Path("z")}), ElementsAre("z:0=foo", "z:19=", "z:35=barbar"));
    EXPECT_THAT(ReadAll(TfRecords(compression), {File("raw", good_), Path("z")}),
                ElementsAre("DataLoss: inflate() failed with error -3: incorrect header check", "z:0=foo",
                            "z:19=", "z:35=barbar"));
  }
  const std::string cut = Packed(good_, Compression::kZlib);
  EXPECT_THAT(ReadAll(TfRecords(Compression::kZlib), {File("cut", cut.substr(0, cut.size() - 9))}),
              ElementsAre("cut:0=foo", "cut:19=", "DataLoss: truncated record at 35"));
}

TEST_F(TfRecordsTest, GzipFilesMayStandBehindEachOther) {
  const std::string packed = Packed(good_, Compression::kGzip);
  EXPECT_THAT(ReadAll(TfRecords(Compression::kGzip), {File("z", packed + packed)}),
              ElementsAre("z:0=foo", "z:19=", "z:35=barbar", "z:57=foo", "z:76=", "z:92=barbar"));
}

TEST_F(TfRecordsTest, ARecordMayBeLargerThanABuffer) {
  const std::string data(3'000'000, 'x');
  for (const Compression compression : {Compression::kNone, Compression::kGzip}) {
    const std::string bytes = TfRecord(data) + TfRecord("y");
    File("t", compression == Compression::kNone ? bytes : Packed(bytes, compression));
    EXPECT_THAT(ReadAll(TfRecords(compression), {Path("t")}), ElementsAre("t:0=" + data, "t:3000016=y"));
  }
}

}  // namespace
}  // namespace lanescope::exec
