// SPDX-License-Identifier: Apache-2.0
// The tables of a rocpd database that an import reads. Their names end in the number of the recording.
// Internal to traces.
#pragma once

#include <string_view>

#include "traces/store/table.h"

namespace lanescope::traces::tables {

struct RocpdString : TableOf<RocpdString> {
  explicit constexpr RocpdString(std::string_view table) : TableOf(table, "Texts.") {}
  Integer id{this, {"id", Need::kAlways, ""}};
  Text value{this, {"string", Need::kAlways, ""}};
};

struct RocpdNode : TableOf<RocpdNode> {
  explicit constexpr RocpdNode(std::string_view table) : TableOf(table, "Machines.") {}
  Text host{this, {"hostname", Need::kOptional, ""}};
};

struct RocpdProcess : TableOf<RocpdProcess> {
  explicit constexpr RocpdProcess(std::string_view table) : TableOf(table, "Processes.") {}
  Integer id{this, {"id", Need::kAlways, ""}};
  Integer pid{this, {"pid", Need::kAlways, ""}};
  Text command{this, {"command", Need::kOptional, ""}};
};

struct RocpdThread : TableOf<RocpdThread> {
  explicit constexpr RocpdThread(std::string_view table) : TableOf(table, "Threads.") {}
  Integer id{this, {"id", Need::kAlways, ""}};
  Integer tid{this, {"tid", Need::kAlways, ""}};
};

struct RocpdAgent : TableOf<RocpdAgent> {
  explicit constexpr RocpdAgent(std::string_view table) : TableOf(table, "Processors and GPUs.") {}
  Integer id{this, {"id", Need::kAlways, ""}};
  Text type{this, {"type", Need::kAlways, "'CPU' or 'GPU'."}};
  Integer logical{this, {"logical_index", Need::kOptional, ""}};
  Integer of_type{this, {"type_index", Need::kOptional, ""}};
  Text name{this, {"name", Need::kOptional, ""}};
  Text product{this, {"product_name", Need::kOptional, ""}};
};

struct RocpdKernel : TableOf<RocpdKernel> {
  explicit constexpr RocpdKernel(std::string_view table) : TableOf(table, "Kernels by their code.") {}
  Integer id{this, {"id", Need::kAlways, ""}};
  Text name{this, {"kernel_name", Need::kOptional, ""}};
  Text shown{this, {"display_name", Need::kOptional, ""}};
};

struct RocpdEvent : TableOf<RocpdEvent> {
  explicit constexpr RocpdEvent(std::string_view table) : TableOf(table, "What joins calls and work.") {}
  Integer id{this, {"id", Need::kAlways, ""}};
  Integer category{this, {"category_id", Need::kOptional, "Text."}};
  Integer stack{this, {"stack_id", Need::kOptional, "One number of a call and what it launched."}};
  Text more{this, {"extdata", Need::kOptional, "JSON; of a marker its message."}};
};

template <typename T>
struct RocpdActivity : TableOf<T> {
  using TableOf<T>::TableOf;
  typename TableOf<T>::Integer process{this, {"pid", Need::kOptional, "Row of processes."}};
  typename TableOf<T>::Integer thread{this, {"tid", Need::kOptional, "Row of threads."}};
  typename TableOf<T>::Time start{this, {"start", Need::kAlways, "Start (ns)."}};
  typename TableOf<T>::Time end{this, {"end", Need::kAlways, "End (ns)."}};
  typename TableOf<T>::Integer event{this, {"event_id", Need::kOptional, ""}};
};

struct RocpdRegion : RocpdActivity<RocpdRegion> {
  explicit constexpr RocpdRegion(std::string_view table) : RocpdActivity(table, "Calls and markers.") {}
  Integer name{this, {"name_id", Need::kAlways, "Text."}};
};

struct RocpdDispatch : RocpdActivity<RocpdDispatch> {
  explicit constexpr RocpdDispatch(std::string_view table) : RocpdActivity(table, "Kernels that ran.") {}
  Integer agent{this, {"agent_id", Need::kAlways, ""}};
  Integer kernel{this, {"kernel_id", Need::kAlways, ""}};
  Integer queue{this, {"queue_id", Need::kOptional, ""}};
  Integer shared{this, {"group_segment_size", Need::kOptional, "Bytes."}};
  Integer block_x{this, {"workgroup_size_x", Need::kOptional, "Threads."}};
  Integer block_y{this, {"workgroup_size_y", Need::kOptional, ""}};
  Integer block_z{this, {"workgroup_size_z", Need::kOptional, ""}};
  Integer grid_x{this, {"grid_size_x", Need::kOptional, "Threads, of all blocks."}};
  Integer grid_y{this, {"grid_size_y", Need::kOptional, ""}};
  Integer grid_z{this, {"grid_size_z", Need::kOptional, ""}};
};

struct RocpdCopy : RocpdActivity<RocpdCopy> {
  explicit constexpr RocpdCopy(std::string_view table) : RocpdActivity(table, "Copies.") {}
  Integer to{this, {"dst_agent_id", Need::kOptional, ""}};
  Integer from{this, {"src_agent_id", Need::kOptional, ""}};
  Size bytes{this, {"size", Need::kOptional, ""}};
  Integer stream{this, {"stream_id", Need::kOptional, ""}};
};

}  // namespace lanescope::traces::tables
