// SPDX-License-Identifier: Apache-2.0
// Readers of records, and what turns the records into numbers. An op by handle ends in V2; the older one
// takes a reference instead.
#include "core/graph/ops/reader.h"

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {

void CheckCsvDefault(const Shape& shape) {
  if (!shape.known_rank()) return;
  if (shape.rank() > 1 || (shape.rank() == 1 && IsExact(shape[0]) && shape[0] > 1)) {
    Throw(Code::kInvalidArgument, "Shape of a default must be a length-0 or length-1 vector, or a scalar.");
  }
}

namespace {

void InferReader(InferenceContext& context) {
  context.SetShape(0, context.output().dtype == DataType::kString ? Shape{2} : Shape{});
}

void InferRead(InferenceContext& context) {
  context.SetShape(0, Shape{});
  context.SetShape(1, Shape{});
}

// A unit of work may end before.
void InferReadUpTo(InferenceContext& context) {
  context.RequireRank(2, 0);
  const auto count = context.IntScalar(2);
  if (count && *count <= 0) Throw(Code::kInvalidArgument, "num_records must be positive, not {}", *count);
  const Shape records{count ? BoundedDim(*count) : kUnknownDim};
  context.SetShape(0, records);
  context.SetShape(1, records);
}

void InferDecodeCsv(InferenceContext& context) {
  for (int i = 1; i < context.num_inputs(); ++i) {
    CheckCsvDefault(context.shape(i));
  }
  for (int i = 0; i < context.num_outputs(); ++i) context.SetShape(i, context.shape(0));
}

// How many numbers a string holds is known when it is there.
void InferDecodeRaw(InferenceContext& context) {
  Shape shape = context.shape(0);
  if (!shape.known_rank()) return;
  shape.Append(kUnknownDim);
  context.SetShape(0, shape);
}

constexpr char kNames[] = "container: string = ''; shared_name: string = ''";

void RegisterReaders(OpRegistry& registry, const std::string& version, const std::string& handle) {
  const OpLister op(registry);
  const auto reader = [&](const std::string& name, const std::string& attrs) {
    op(name + version + "() -> (reader_handle: " + handle + ")", attrs + kNames)
        .Infer(InferReader)
        .Role(StateRole::kTable)
        .HostOnly()
        .Work(NoWork)
        .Stateful();
  };
  reader("TextLineReader", "skip_header_lines: int = 0; ");
  const std::string lengths =
      "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; ";
  reader("FixedLengthRecordReader", version.empty() ? lengths : lengths + "encoding: string = ''; ");
  reader("TFRecordReader", "compression_type: string = ''; ");
  reader("WholeFileReader", "");
  reader("IdentityReader", "");
  const auto use = [&](const std::string& name, const std::string& inputs, const std::string& outputs) {
    const std::string signature =
        name + version + "(reader_handle: " + handle + inputs + ") -> (" + outputs + ")";
    return op(signature).HostOnly().Stateful();
  };
  const std::string queue = ", queue_handle: " + handle;
  use("ReaderRead", queue, "key: string, value: string").Infer(InferRead);
  use("ReaderReadUpTo", queue + ", num_records: int64", "keys: string, values: string").Infer(InferReadUpTo);
  use("ReaderNumRecordsProduced", "", "records_produced: int64").Infer(ScalarOutput).Work(NoWork);
  use("ReaderNumWorkUnitsCompleted", "", "units_completed: int64").Infer(ScalarOutput).Work(NoWork);
  use("ReaderReset", "", "").Work(NoWork);
}

}  // namespace

void RegisterReaderOps(OpRegistry& registry) {
  RegisterReaders(registry, "", "Ref(string)");
  RegisterReaders(registry, "V2", "resource");
  const OpLister op(registry);
  op("DecodeCSV(records: string, record_defaults: OUT_TYPE) -> (output: OUT_TYPE)",
     "OUT_TYPE: list({float, double, index, string}) >= 1; field_delim: string = ','; use_quote_delim: bool "
     "= "
     "true; na_value: string = ''; select_cols: list(int) = []")
      .Infer(InferDecodeCsv)
      .HostOnly();
  op("DecodeRaw(bytes: string) -> (output: out_type)",
     "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, bool, "
     "bfloat16}; little_endian: bool = true")
      .Infer(InferDecodeRaw)
      .HostOnly();
}

}  // namespace lanescope::ops
