// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling of volumes, for every kind of device.
#pragma once

#include <array>

#include "core/graph/ops/volume.h"
#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

using ops::WindowDim;

// Volumes [batch, depth, height, width, channels] under windows. Of gradients it is the forward op's.
struct VolumePlan {
  int64_t batch = 0;
  int64_t channels = 0;
  std::array<WindowDim, 3> dims;  // depth, height, width
  int64_t filters = 0;            // channels of a convolution's result

  int64_t in_cells() const { return dims[0].in * dims[1].in * dims[2].in; }
  int64_t out_cells() const { return dims[0].out * dims[1].out * dims[2].out; }
  // Elements of the volume under a window.
  int64_t patch() const { return dims[0].size * dims[1].size * dims[2].size * channels; }
};

class VolumeConvOp {
 public:
  explicit VolumeConvOp(const Node& node);
  VolumePlan Plan(KernelContext& context) const;  // inputs volumes, filter

 protected:
  VolumePlan PlanFor(const Shape& volumes, const Shape& filter) const;

  ops::VolumeConvolutionRule rule_;
};
// Inputs: the shape of the volumes (in host memory), filter, gradient.
class VolumeConvInputGradOp : public VolumeConvOp {
 public:
  using VolumeConvOp::VolumeConvOp;
  VolumePlan Plan(KernelContext& context) const;
};
// Inputs: volumes, the shape of the filter (in host memory), gradient.
class VolumeConvFilterGradOp : public VolumeConvOp {
 public:
  using VolumeConvOp::VolumeConvOp;
  VolumePlan Plan(KernelContext& context) const;
};

class VolumePoolOp {
 public:
  explicit VolumePoolOp(const Node& node);
  VolumePlan Plan(KernelContext& context) const;  // input: volumes

 protected:
  VolumePlan PlanFor(const Shape& volumes) const;

  ops::VolumePoolRule rule_;
};
// Inputs: x, y, dy.
class VolumeMaxPoolGradOp : public VolumePoolOp {
 public:
  using VolumePoolOp::VolumePoolOp;
  VolumePlan Plan(KernelContext& context) const;
};
// Inputs: x, y, the gradient of dx.
class VolumeMaxPoolSecondOp : public VolumePoolOp {
 public:
  using VolumePoolOp::VolumePoolOp;
  VolumePlan Plan(KernelContext& context) const;
};
// Inputs: the shape of x (in host memory), dy.
class VolumeAvgPoolGradOp : public VolumePoolOp {
 public:
  using VolumePoolOp::VolumePoolOp;
  VolumePlan Plan(KernelContext& context) const;
};

}  // namespace lanescope::exec
