// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling of volumes; the bodies are in volume.h.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/volume.h"
#include "exec/kernels/volume_plan.h"

namespace lanescope::exec::cuda {
namespace {

VolumeSpec VolumeSpecOf(const VolumePlan& plan) {
  return {plan.batch,           plan.channels,        plan.filters,
          AxisOf(plan.dims[0]), AxisOf(plan.dims[1]), AxisOf(plan.dims[2])};
}

void PoolMaxVolumes(KernelContext& context, const VolumePlan& plan) {
  DispatchReal("MaxPool3D", context.input(0).dtype, [&]<typename T>(T) {
    RunMaxPoolVolumes<T>(LaunchOf(context), VolumeSpecOf(plan), context.input(0).as<T>(),
                         context.output().as<T>());
  });
}

void PoolMeanVolumes(KernelContext& context, const VolumePlan& plan) {
  DispatchReal("AvgPool3D", context.input(0).dtype, [&]<typename T>(T) {
    RunAvgPoolVolumes<T>(LaunchOf(context), VolumeSpecOf(plan), context.input(0).as<T>(),
                         context.output().as<T>());
  });
}

void PoolMaxVolumesGrad(KernelContext& context, const VolumePlan& plan) {
  DispatchReal("MaxPool3DGrad", context.output().dtype, [&]<typename T>(T) {
    RunMaxPoolVolumesGrad<T>(LaunchOf(context), VolumeSpecOf(plan), context.input(0).as<T>(),
                             context.input(1).as<T>(), context.input(2).as<T>(), context.output().as<T>());
  });
}

void PoolMaxVolumesSecond(KernelContext& context, const VolumePlan& plan) {
  DispatchReal("MaxPool3DGradGrad", context.output().dtype, [&]<typename T>(T) {
    RunMaxPoolVolumesSecond<T>(LaunchOf(context), VolumeSpecOf(plan), context.input(0).as<T>(),
                               context.input(1).as<T>(), context.input(2).as<T>(), context.output().as<T>());
  });
}

void PoolMeanVolumesGrad(KernelContext& context, const VolumePlan& plan) {
  DispatchReal("AvgPool3DGrad", context.output().dtype, [&]<typename T>(T) {
    RunAvgPoolVolumesGrad<T>(LaunchOf(context), VolumeSpecOf(plan), context.input(1).as<T>(),
                             context.output().as<T>());
  });
}

void ConvolveVolumesOf(KernelContext& context, const VolumePlan& plan) {
  DispatchReal("Conv3D", context.input(0).dtype, [&]<typename T>(T) {
    RunConvolveVolumes<T>(LaunchOf(context), VolumeSpecOf(plan), context.input(0).as<T>(),
                          context.input(1).as<T>(), context.output().as<T>());
  });
}

void VolumesInputGrad(KernelContext& context, const VolumePlan& plan) {
  DispatchReal("Conv3DBackpropInputV2", context.output().dtype, [&]<typename T>(T) {
    RunConvolveVolumesInputGrad<T>(LaunchOf(context), VolumeSpecOf(plan), context.input(1).as<T>(),
                                   context.input(2).as<T>(), context.output().as<T>());
  });
}

void VolumesFilterGrad(KernelContext& context, const VolumePlan& plan) {
  DispatchReal("Conv3DBackpropFilterV2", context.output().dtype, [&]<typename T>(T) {
    RunConvolveVolumesFilterGrad<T>(LaunchOf(context), VolumeSpecOf(plan), context.input(0).as<T>(),
                                    context.input(2).as<T>(), context.output().as<T>());
  });
}

}  // namespace

void RegisterVolumeOps(KernelRegistry& registry) {
  RegisterOp<VolumePoolOp, PoolMaxVolumes>(registry, "MaxPool3D");
  RegisterOp<VolumePoolOp, PoolMeanVolumes>(registry, "AvgPool3D");
  RegisterOp<VolumeMaxPoolGradOp, PoolMaxVolumesGrad>(registry, "MaxPool3DGrad");
  RegisterOp<VolumeMaxPoolSecondOp, PoolMaxVolumesSecond>(registry, "MaxPool3DGradGrad");
  RegisterOp<VolumeAvgPoolGradOp, PoolMeanVolumesGrad>(registry, "AvgPool3DGrad");
  RegisterOp<VolumeConvOp, ConvolveVolumesOf>(registry, "Conv3D");
  RegisterOp<VolumeConvInputGradOp, VolumesInputGrad>(registry, "Conv3DBackpropInputV2");
  RegisterOp<VolumeConvFilterGradOp, VolumesFilterGrad>(registry, "Conv3DBackpropFilterV2");
}

}  // namespace lanescope::exec::cuda
