// SPDX-License-Identifier: Apache-2.0
// Texts and bytes as numbers, on host memory.
#include <algorithm>
#include <vector>

#include "core/graph/ops/reader.h"
#include "exec/kernels/host_tensors.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/queue_kernels.h"
#include "exec/readers/decode_csv.h"
#include "exec/readers/decode_raw.h"

namespace lanescope::exec {
namespace {

class DecodeCsvKernel final : public Kernel {
 public:
  explicit DecodeCsvKernel(const Node& node) {
    columns_.syntax.delimiter = ParseDelimiter(node.StringAttr("field_delim", ","));
    columns_.syntax.use_quotes = node.BoolAttr("use_quote_delim", true);
    columns_.na_value = node.StringAttr("na_value", "");
    if (node.FindAttr("select_cols") != nullptr) columns_.select = node.IntListAttr("select_cols");
  }

  void Compute(KernelContext& context) override {
    CsvColumns columns = columns_;
    for (int i = 1; i < context.num_inputs(); ++i) {
      ops::CheckCsvDefault(context.input(i).shape);
      columns.defaults.push_back(CopyOf(context.input(i)));
    }
    const std::vector<Tensor> decoded = DecodeCsv(CopyOf(context.input(0)), columns);
    for (int i = 0; i < context.num_outputs(); ++i) {
      WriteOutput(context, i, decoded[static_cast<size_t>(i)]);
    }
  }

 private:
  CsvColumns columns_;
};

class DecodeRawKernel final : public Kernel {
 public:
  explicit DecodeRawKernel(const Node& node)
      : type_(node.TypeAttr("out_type")), little_endian_(node.BoolAttr("little_endian", true)) {}

  void Compute(KernelContext& context) override {
    WriteOutput(context, 0, DecodeRaw(CopyOf(context.input(0)), type_, little_endian_));
  }

 private:
  const DataType type_;
  const bool little_endian_;
};

}  // namespace

void RegisterDecodeKernels(KernelRegistry& registry) {
  registry.Register("DecodeCSV", MakeKernel<DecodeCsvKernel>);
  registry.Register("DecodeRaw", MakeKernel<DecodeRawKernel>);
}

}  // namespace lanescope::exec
