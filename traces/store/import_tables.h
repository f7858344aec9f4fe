// SPDX-License-Identifier: Apache-2.0
// Tables that imports of other tools' traces have beside the activity tables and ours. Internal to traces.
#pragma once

#include "traces/store/lanescope_tables.h"

namespace lanescope::traces::tables {

struct CollectiveTable : TableOf<CollectiveTable> {
  constexpr CollectiveTable()
      : TableOf("LANESCOPE_COLLECTIVE",
                "What kernels of NCCL move, where a profiler of another tool says it: joins by globalPid and "
                "correlationId. Imports alone have it.") {}
  Integer global_pid{this, {kGlobalPid.name, Need::kAlways, "Process of the kernel."}};
  Integer correlation{this, {kCorrelationId.name, Need::kAlways, "Its correlation id."}};
  Text kind{this, About(kKind, "As the profiler calls it: 'allreduce', '_allgather_base'.")};
  Size bytes{this,
             {kBytes.name, Need::kNotNull,
              "Bytes: the larger of what goes into and comes out of a rank; 0: not known."}};
  Size ranks{this, {"groupSize", Need::kNotNull, "Ranks that take part; 0: not known."}};
  Text group{this,
             {"groupName", Need::kOptional, "Process group, and its ranks where the profiler names them."}};
  Number src_rank{this, {"srcRank", Need::kOptional, "Rank that sends, of a message; NULL: not known."}};
  Number dst_rank{this, {"dstRank", Need::kOptional, "Rank that receives it; NULL: not known."}};
};
inline constexpr CollectiveTable kCollective;

struct StreamNameTable : TableOf<StreamNameTable> {
  constexpr StreamNameTable()
      : TableOf("LANESCOPE_STREAM",
                "Names of streams, where a profiler of another tool gives them. Imports alone have it.") {}
  Id device{this, kDeviceId};
  Id stream{this, {kStreamId.name, Need::kNotNull, "Stream number."}};
  Integer name{this, Needed(kNameId, Need::kAlways)};
};
inline constexpr StreamNameTable kStreamName;

struct RankTable : TableOf<RankTable> {
  constexpr RankTable()
      : TableOf("LANESCOPE_RANK",
                "Which rank of a job the files of an import are of: joins TARGET_INFO_GPU by vmId and "
                "processes by the upper 16 bits of globalPid. Imports alone have it.") {}
  Integer vm{this, {kVmId.name, Need::kAlways, "File: its number, from 1 on, shifted left by 48."}};
  Integer rank{this, {"rank", Need::kOptional, "Rank; NULL: the file does not say."}};
  Text host{this, {"host", Need::kOptional, "Machine that it ran on; NULL: the file does not say."}};
  Size world{this, {"worldSize", Need::kOptional, "Ranks of the job; NULL: the file does not say."}};
  Integer clock_ahead{
      this,
      {"clockAhead", Need::kOptional,
       "ns by which its clock was ahead of the first file's, as collectives or steps that both have tell; "
       "times in the tables are less that. NULL: the clocks agree, as far as the files say."}};
};
inline constexpr RankTable kRank;

struct DeviceRangeTable : TableOf<DeviceRangeTable> {
  constexpr DeviceRangeTable()
      : TableOf("LANESCOPE_DEVICE_RANGE",
                "Annotations of a program, when what they launched ran on a stream. Imports alone have it.") {
  }
  Time start{this, kStart};
  Time end{this, kEnd};
  Id device{this, kDeviceId};
  Id stream{this, {kStreamId.name, Need::kNotNull, "Stream number."}};
  Integer name{this, Needed(kNameId, Need::kAlways)};
  Integer counted{this,
                  {"counted", Need::kOptional,
                   "What hardware counters say of it, '{\"sm__cycles_active.avg\": 12}'; StringIds.id."}};
};
inline constexpr DeviceRangeTable kDeviceRange;

struct OperatorTable : TableOf<OperatorTable> {
  constexpr OperatorTable()
      : TableOf("LANESCOPE_OPERATOR",
                "What a profiler of another tool says of an operator: joins NVTX_EVENTS by eventId. Imports "
                "alone "
                "have it.") {}
  Integer event{this, {"eventId", Need::kAlways, "NVTX_EVENTS.eventId of its range."}};
  Integer shapes{this,
                 {"shapes", Need::kOptional, "Shapes of its inputs, '[[64, 512], [512]]'; StringIds.id."}};
  Integer types{this, {"types", Need::kOptional, "Their types; StringIds.id."}};
  Integer stack{this, {"callStack", Need::kOptional, "Who called it, the innermost first; StringIds.id."}};
};
inline constexpr OperatorTable kOperator;

struct TensorUseTable : TableOf<TensorUseTable> {
  constexpr TensorUseTable()
      : TableOf("LANESCOPE_TENSOR_USE",
                "Which operator wrote a tensor that another one reads, where an execution trace of PyTorch "
                "says so. Imports alone have it.") {}
  Integer event{this, {"eventId", Need::kAlways, "NVTX_EVENTS.eventId of the operator that reads."}};
  Integer writer{this,
                 {"writerId", Need::kAlways, "The same of the operator that wrote it last before that."}};
};
inline constexpr TensorUseTable kTensorUse;

struct SpanTable : TableOf<SpanTable> {
  constexpr SpanTable()
      : TableOf(
            "LANESCOPE_SPAN",
            "When a profiler recorded that did so now and then: its spans follow each other here. Imports "
            "alone have it.") {}
  Time start{this, kStart};
  Time end{this, kEnd};
  Size unrecorded{this,
                  {"unrecorded", Need::kNotNull,
                   "ns before it in which nothing was recorded, which the times here leave out."}};
};
inline constexpr SpanTable kSpan;

struct CapturedKernelTable : TableOf<CapturedKernelTable> {
  constexpr CapturedKernelTable()
      : TableOf("LANESCOPE_CAPTURED_KERNEL",
                "Kernels that calls made nodes of a CUDA graph, where a profiler of another tool names them: "
                "joins CUPTI_ACTIVITY_KIND_RUNTIME by process and correlationId. Imports alone have it.") {}
  Integer global_pid{this, {kGlobalPid.name, Need::kAlways, "Process of the call."}};
  Integer correlation{this, {kCorrelationId.name, Need::kAlways, "Its correlation id."}};
  Integer name{this, Needed(kNameId, Need::kAlways)};
};
inline constexpr CapturedKernelTable kCapturedKernel;

// As Nsight Systems has it.
struct DiagnosticTable : TableOf<DiagnosticTable> {
  constexpr DiagnosticTable()
      : TableOf("DIAGNOSTIC_EVENT", "What a profiler, or an import, says of its own work.") {}
  Integer time{this, {"timestamp", Need::kNotNull, "When (ns since time zero)."}};
  Integer severity{this, {"severity", Need::kNotNull, "1: information, 2: warning, 3: error."}};
  Text text{this, {"text", Need::kNotNull, "In words."}};
};
inline constexpr DiagnosticTable kDiagnostic;
inline constexpr int64_t kWarning = 2;  // of its severities

// NVTX_EVENTS.domainId of ranges whose texts begin with their domain: that of libraries.
inline constexpr int64_t kNamedDomain = -1;

// Tables of imports alone, beside those of the export.
inline constexpr const Table* kImported[] = {&kCollective,  &kStreamName,     &kRank,
                                             &kDeviceRange, &kOperator,       &kTensorUse,
                                             &kSpan,        &kCapturedKernel, &kDiagnostic};

}  // namespace lanescope::traces::tables
