// SPDX-License-Identifier: Apache-2.0
// How the files of this folder write op definitions: TensorFlow's signature as one line of text, and the rest
// by name.
//
//   op("Conv2D(input: T, filter: T) -> (output: T)", "T: {floating, int32}; strides:
//   list(int)").Infer(InferConv2D)
//
// Signature:  NAME(ARG, ...) -> (ARG, ...)      ARG = name: TYPES | name: Ref(TYPES), TYPES = TYPE | N * TYPE
//             TYPE is a dtype, or an attribute that holds a type or a list of types (one tensor each).
// Attributes: name: KIND [>= minimum] [= default], separated by ';'
//             KIND = int | float | bool | string | type | shape | tensor | func | list(KIND) | {'A', 'B'} |
//             a set of types: {float, int32}; `number`, `real`, `floating`, `complex`, `integer` and `index`
//             are names for common ones.
#pragma once

#include <string_view>
#include <utility>

#include "core/graph/op.h"

namespace lanescope::ops {

// Parses a definition's text. A mistake in it is a defect of this library: Internal.
OpDef ParseOpSpec(std::string_view signature, std::string_view attrs);

// Registers one op and completes its definition call by call. Lives for one expression.
class OpSpec {
 public:
  using InferFn = decltype(OpDef::infer);
  using WorkFn = decltype(OpDef::work);

  OpSpec(OpRegistry& registry, std::string_view signature, std::string_view attrs)
      : def_(registry.Register(ParseOpSpec(signature, attrs))) {}

  OpSpec& Infer(InferFn infer) { return def_.infer = std::move(infer), *this; }
  OpSpec& Work(WorkFn work) { return def_.work = std::move(work), *this; }
  OpSpec& Stateful() { return def_.stateful = true, *this; }
  OpSpec& HostOnly() { return def_.host_only = true, *this; }
  OpSpec& Metadata() { return def_.metadata = true, *this; }
  OpSpec& InPlace() { return def_.in_place = true, *this; }
  OpSpec& AliasesInput0() { return def_.alias = AliasRule::kInput0, *this; }
  OpSpec& Role(StateRole role) { return def_.role = role, *this; }
  // Writes the variables behind these flat inputs.
  OpSpec& Updates(std::vector<int> inputs) {
    def_.updates = std::move(inputs);
    return Role(StateRole::kUpdate);
  }

 private:
  OpDef& def_;
};

// `op(signature, attributes)` of one registry: what the Register functions below write their lists with.
class OpLister {
 public:
  explicit OpLister(OpRegistry& registry) : registry_(registry) {}
  OpSpec operator()(std::string_view signature, std::string_view attrs = "") const {
    return {registry_, signature, attrs};
  }

 private:
  OpRegistry& registry_;
};

// One function a file of this folder.
void RegisterMathOps(OpRegistry& registry);       // element-wise maths, comparisons, casts, Select, AddN
void RegisterReductionOps(OpRegistry& registry);  // Sum, Mean, ArgMax, L2Loss, cumulative sums
void RegisterLinearOps(OpRegistry& registry);     // MatMul, Qr, Einsum
void RegisterConvolutionOps(OpRegistry& registry);
void RegisterPoolingOps(OpRegistry& registry);
void RegisterVolumeOps(OpRegistry& registry);       // convolution and pooling of volumes
void RegisterImageOps(OpRegistry& registry);        // resized images, blocks as channels, reversed sequences
void RegisterNnOps(OpRegistry& registry);           // LRN, bias, softmax, cross entropy, activations
void RegisterArrayOps(OpRegistry& registry);        // reshape, transpose, tile, pad, fill
void RegisterSliceOps(OpRegistry& registry);        // slices, concat, split, pack
void RegisterMetadataOps(OpRegistry& registry);     // Shape, Size, Rank, Range, broadcast arithmetic
void RegisterSparseOps(OpRegistry& registry);       // gather, scatter, Unique, Where, dynamic partition
void RegisterSegmentOps(OpRegistry& registry);      // segment sums
void RegisterStateOps(OpRegistry& registry);        // variables, assignments, scatter updates
void RegisterOptimizerOps(OpRegistry& registry);    // Apply* and SparseApply*
void RegisterRandomOps(OpRegistry& registry);       // random tensors
void RegisterSamplingOps(OpRegistry& registry);     // random classes and candidates
void RegisterCollectiveOps(OpRegistry& registry);   // what all devices do together
void RegisterWireOps(OpRegistry& registry);         // tensors with fewer bits between tasks
void RegisterStringOps(OpRegistry& registry);       // string conversion, lookup tables
void RegisterAccumulatorOps(OpRegistry& registry);  // gradients of several steps, added up
void RegisterQueueOps(OpRegistry& registry);        // queues of tensors, by handle and by reference
void RegisterReaderOps(OpRegistry& registry);       // readers of records, records as numbers
void RegisterExampleOps(OpRegistry& registry);      // records that are tf.train.Example messages
void RegisterTextOps(OpRegistry& registry);         // pieces of strings, files and pictures in strings
void RegisterControlOps(OpRegistry& registry);      // constants, placeholders, identities, NoOp, Assert

}  // namespace lanescope::ops
