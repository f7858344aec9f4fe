// SPDX-License-Identifier: Apache-2.0
// Pieces of strings, files as strings, pictures in strings.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {
namespace {

// pos and len have one shape, against which the input's broadcasts.
void InferSubstr(InferenceContext& context) {
  if (Contradict(context.shape(1), context.shape(2))) {
    Throw(Code::kInvalidArgument, "pos and len must have the same shape, not {} and {}",
          context.shape(1).ToString(), context.shape(2).ToString());
  }
  context.SetShape(0, BroadcastShapes(context.shape(0), context.shape(1)));
}

// How many pieces there are is known when the strings are there.
void InferPieces(InferenceContext& context) {
  context.RequireRank(0, 1);
  context.SetShape(0, Shape{kUnknownDim, 2});
  context.SetShape(1, Shape{kUnknownDim});
  context.SetShape(2, Shape{2});
}

void InferReadFile(InferenceContext& context) {
  context.RequireRank(0, 0);
  context.SetShape(0, Shape{});
}

void InferMatchingFiles(InferenceContext& context) { context.SetShape(0, Shape{kUnknownDim}); }

void InferPicture(InferenceContext& context) {
  context.RequireRank(0, 0);
  const int64_t channels = context.node().IntAttr("channels", 0);
  if (channels < 0 || channels > 4 || (channels == 2 && context.node().op == "DecodeJpeg")) {
    Throw(Code::kInvalidArgument, "channels must be 0, 1, 3 or, of a PNG, 4, not {}", channels);
  }
  context.SetShape(0, Shape{kUnknownDim, kUnknownDim, channels == 0 ? kUnknownDim : channels});
}

}  // namespace

void RegisterTextOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("Substr(input: string, pos: T, len: T) -> (output: string)",
     "T: index; unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
      .Infer(InferSubstr)
      .HostOnly();
  op("StringSplit(input: string, delimiter: string) -> (indices: int64, values: string, shape: int64)",
     "skip_empty: bool = true")
      .Infer(InferPieces)
      .HostOnly();
  op("StringSplitV2(input: string, sep: string) -> (indices: int64, values: string, shape: int64)",
     "maxsplit: int = -1")
      .Infer(InferPieces)
      .HostOnly();
  op("StringLength(input: string) -> (output: int32)", "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
      .Infer(SameShape)
      .HostOnly();
  op("StringLower(input: string) -> (output: string)", "encoding: string = ''").Infer(SameShape).HostOnly();
  op("StringUpper(input: string) -> (output: string)", "encoding: string = ''").Infer(SameShape).HostOnly();
  op("StringStrip(input: string) -> (output: string)").Infer(SameShape).HostOnly();
  op("ReadFile(filename: string) -> (contents: string)").Infer(InferReadFile).HostOnly().Stateful();
  op("MatchingFiles(pattern: string) -> (filenames: string)").Infer(InferMatchingFiles).HostOnly().Stateful();
  op("DecodePng(contents: string) -> (image: dtype)", "channels: int = 0; dtype: {uint8, uint16} = uint8")
      .Infer(InferPicture)
      .HostOnly();
  op("DecodeJpeg(contents: string) -> (image: uint8)",
     "channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: bool = false; "
     "acceptable_fraction: float = 1.0; dct_method: string = ''")
      .Infer(InferPicture)
      .HostOnly();
}

}  // namespace lanescope::ops
