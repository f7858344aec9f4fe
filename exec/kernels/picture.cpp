// SPDX-License-Identifier: Apache-2.0
// PNG and JPEG files as tensors, on host memory.
#include "exec/kernels/host_tensors.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/queue_kernels.h"
#include "exec/readers/pictures.h"

namespace lanescope::exec {
namespace {

class DecodePngKernel final : public Kernel {
 public:
  explicit DecodePngKernel(const Node& node)
      : channels_(static_cast<int>(node.IntAttr("channels", 0))),
        type_(node.TypeAttr("dtype", DataType::kUint8)) {
    if (channels_ != 0 && channels_ != 1 && channels_ != 3 && channels_ != 4) {
      Throw(Code::kInvalidArgument, "channels must be 0, 1, 3, or 4, got {}", channels_);
    }
  }
  void Compute(KernelContext& context) override {
    const auto bytes = ScalarOf<std::string>(context.input(0), "contents");
    WriteOutput(context, 0, DecodePng(bytes, channels_, type_));
  }

 private:
  const int channels_;
  const DataType type_;
};

class DecodeJpegKernel final : public Kernel {
 public:
  explicit DecodeJpegKernel(const Node& node) {
    options_.channels = static_cast<int>(node.IntAttr("channels", 0));
    options_.ratio = static_cast<int>(node.IntAttr("ratio", 1));
    options_.fancy_upscaling = node.BoolAttr("fancy_upscaling", true);
    options_.recover_truncated = node.BoolAttr("try_recover_truncated", false);
    options_.dct_method = node.StringAttr("dct_method", "");
    if (options_.channels != 0 && options_.channels != 1 && options_.channels != 3) {
      Throw(Code::kInvalidArgument, "channels must be 0, 1, or 3, got {}", options_.channels);
    }
    const int ratio = options_.ratio;
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
      Throw(Code::kInvalidArgument, "ratio must be 1, 2, 4, or 8, got {}", ratio);
    }
  }
  void Compute(KernelContext& context) override {
    const auto bytes = ScalarOf<std::string>(context.input(0), "contents");
    WriteOutput(context, 0, DecodeJpeg(bytes, options_));
  }

 private:
  JpegOptions options_;
};

}  // namespace

void RegisterPictureKernels(KernelRegistry& registry) {
  registry.Register("DecodePng", MakeKernel<DecodePngKernel>);
  registry.Register("DecodeJpeg", MakeKernel<DecodeJpegKernel>);
}

}  // namespace lanescope::exec
