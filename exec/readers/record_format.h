// SPDX-License-Identifier: Apache-2.0
// The records of a reader's files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "exec/readers/byte_stream.h"

namespace lanescope::exec {

struct Record {
  std::string key;
  std::string value;
};

// The records of one unit of work, a file as a rule. Thread-compatible.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  // Begins with the unit of that name. Throws what OpenBytes throws.
  virtual void Open(const std::string& work) = 0;
  // The next record; false at the end of the unit. Throws DataLoss where the file is damaged.
  virtual bool Next(Record* record) = 0;
  // Whether a unit is one record: it ends with that, not with the look for another one.
  virtual bool is_one_record() const { return false; }
};

// Lines that end with LF or CRLF, or with the file; "file:number of the line, from 1".
std::unique_ptr<RecordFormat> TextLines(int64_t skip_header_lines);

struct FixedLength {
  int64_t header_bytes = 0;
  int64_t record_bytes = 0;
  int64_t footer_bytes = 0;
  int64_t hop_bytes = 0;  // from record to record; 0: record_bytes
  Compression compression = Compression::kNone;
};
// "file:number of the record, from 0". Throws InvalidArgument for sizes that cannot be.
std::unique_ptr<RecordFormat> FixedLengthRecords(const FixedLength& layout);

// A file is a record, its name the key.
std::unique_ptr<RecordFormat> WholeFiles();
// The name of the unit is key and value.
std::unique_ptr<RecordFormat> Identity();

// TFRecord files: length, checksum of the length, bytes, checksum of the bytes; "file:offset of the record".
std::unique_ptr<RecordFormat> TfRecords(Compression compression);

}  // namespace lanescope::exec
