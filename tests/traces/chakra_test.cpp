// SPDX-License-Identifier: Apache-2.0
// Execution traces of Chakra, made here with their truth beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/protobuf_wire.h"
#include "tests/traces/imported.h"
#include "traces/export/export.h"
#include "traces/import/wire_message.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

WireWriter Attribute(std::string_view name, int field, int64_t value) {
  WireWriter attribute;
  return attribute.Bytes(1, name).Signed(field, value);
}
WireWriter ChakraNode(int id, std::string_view name, int type, int64_t start, int64_t length,
                      const std::vector<WireWriter>& attributes = {}) {
  WireWriter node;
  node.Integer(1, static_cast<uint64_t>(id))
      .Bytes(2, name)
      .Signed(3, type)
      .Signed(6, start)
      .Signed(7, length);
  for (const WireWriter& attribute : attributes) node.Nested(10, attribute);
  return node;
}

// An op of the processor 100-120, its kernel on stream 7 110-130, an all-reduce of 1,000 bytes 130-170 and a
// load 100-105.
TEST(ChakraTest, AnExecutionTraceOfChakra) {
  ScratchFile in("job.3.et");
  WireWriter metadata;
  metadata.Bytes(1, "0.0.4");
  std::string bytes = metadata.Delimited();
  bytes += ChakraNode(1, "aten::mm", 4, 100, 20, {Attribute("is_cpu_op", 27, 1), Attribute("tid", 7, 9)})
               .Delimited();
  bytes += ChakraNode(2, "gemm", 4, 110, 20, {Attribute("is_cpu_op", 27, 0), Attribute("stream", 9, 7)})
               .Integer(5, 1)
               .Delimited();
  bytes +=
      ChakraNode(3, "gradients", 7, 130, 40, {Attribute("comm_type", 9, 0), Attribute("comm_size", 9, 1000)})
          .Delimited();
  bytes += ChakraNode(4, "load", 2, 100, 5, {Attribute("tensor_size", 13, 64)}).Delimited();
  bytes += ChakraNode(5, "about", 1, 0, 0).Delimited() + ChakraNode(6, "never", 4, 0, 10).Delimited();
  WriteFile(in.path(), bytes);
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.kernels, 2);
  EXPECT_EQ(counts.copies, 1);
  EXPECT_EQ(counts.ranges, 1);
  EXPECT_EQ(counts.collectives, 1);
  EXPECT_EQ(counts.skipped, 1);
  EXPECT_EQ(counts.left_out,
            (std::map<std::string, int64_t>{{"metadata nodes", 1}, {"nodes' dependencies", 1}}));
  ASSERT_EQ(run.launches.size(), 2u);
  EXPECT_EQ(run.Text(run.launches[0].name), "gemm");
  EXPECT_EQ(run.launches[0].stream, 7);
  EXPECT_EQ(run.Text(run.launches[1].name), "ncclAllReduce (gradients)");
  EXPECT_EQ(run.launches[1].end_ns - run.launches[1].start_ns, 40'000);
  ASSERT_EQ(run.collectives.size(), 1u);
  EXPECT_EQ(run.collectives[0].launch, 1);
  EXPECT_EQ(run.collectives[0].bytes, 1000);
  EXPECT_EQ(run.copies.at(0).bytes, 64);
  EXPECT_EQ(summary.devices.at(0).communication_ns, 40'000);
}

// A run written for Chakra and read again: kernels, copies and collectives of GPU 0 at the same ns, and no
// other GPU's. The call that launched the kernel and the kernel before on the stream are what it waits for.
TEST(ChakraTest, ARunWrittenForChakra) {
  TraceRun run;
  run.texts = {"gemm", "ncclDevKernel_AllReduce", "cudaLaunchKernel", "allreduce"};
  TraceApiCall call;
  call.start_ns = 5;
  call.end_ns = 9;
  call.global_tid = 0x1000007;
  call.name = 2;
  run.api_calls.push_back(call);
  const auto launch = [&](int device, int name, int64_t start, int64_t end) {
    TraceLaunch kernel;
    kernel.device = device;
    kernel.stream = 7;
    kernel.name = kernel.op = name;
    kernel.start_ns = start;
    kernel.end_ns = end;
    run.launches.push_back(kernel);
  };
  launch(0, 0, 10, 1234);
  run.launches.back().api = 0;
  launch(0, 1, 1300, 1400);
  run.collectives.push_back({1, 3, 1000, 2});
  launch(1, 0, 10, 20);
  ScratchFile out("job.0.et");
  std::string bytes;
  WriteChakra(run, 0, [&](std::string_view part) { bytes += part; });
  WriteFile(out.path(), bytes);
  const auto [counts, again, summary] = ImportOf(out.path());
  EXPECT_EQ(counts.ranges, 1);  // the call
  EXPECT_EQ(counts.left_out, (std::map<std::string, int64_t>{{"nodes' dependencies", 2}}));
  ASSERT_EQ(again.launches.size(), 2u);
  EXPECT_EQ(again.Text(again.launches[0].name), "gemm");
  EXPECT_EQ(again.launches[0].stream, 7);
  EXPECT_EQ(again.launches[0].end_ns - again.launches[0].start_ns, 1224);
  EXPECT_EQ(again.launches[1].start_ns - again.launches[0].end_ns, 66);
  ASSERT_EQ(again.collectives.size(), 1u);
  EXPECT_EQ(again.collectives[0].bytes, 1000);
  EXPECT_EQ(again.Text(again.collectives[0].kind), "AllReduce");
}

// A node as a file has it. Dependencies are names.
struct WrittenNode {
  int64_t type = 0;
  std::vector<std::string> data, control;
  int64_t length_us = 0;
  std::map<std::string, int64_t> attributes;
  std::map<std::string, std::string> texts;
};

// By the name. Nodes' own and those that they wait for are in one file.
std::map<std::string, WrittenNode> WrittenNodes(const TraceRun& run, int rank) {
  std::string bytes;
  WriteChakra(run, rank, [&](std::string_view part) { bytes += part; });
  const std::string path = "written";
  std::map<int64_t, std::string> names;
  std::map<std::string, WrittenNode> nodes;
  std::string_view rest = bytes;
  for (bool first = true; !rest.empty(); first = false) {
    size_t size = 0;
    for (int shift = 0, byte = 0x80; byte >= 0x80; shift += 7, rest.remove_prefix(1)) {
      byte = static_cast<unsigned char>(rest.front());
      size |= static_cast<size_t>(byte & 0x7f) << shift;
    }
    const std::string_view body = rest.substr(0, size);
    rest.remove_prefix(size);
    if (first) continue;  // GlobalMetadata
    WireMessage message(body, &path);
    WrittenNode node;
    std::string name;
    int64_t id = 0;
    while (message.Next()) {
      if (message.field() == 1) names[id = message.Integer()] = "";
      if (message.field() == 2) names[id] = name = std::string(message.Bytes());
      if (message.field() == 3) node.type = message.Integer();
      if (message.field() == 4) node.control.push_back(names.at(message.Integer()));
      if (message.field() == 7) node.length_us = message.Integer();
      if (message.field() == 5) node.data.push_back(names.at(message.Integer()));
      if (message.field() != 10) continue;
      WireMessage attribute = message.Nested();
      std::string key;
      while (attribute.Next()) {
        if (attribute.field() == 1) key = std::string(attribute.Bytes());
        if (attribute.field() == 29) node.texts[key] = std::string(attribute.Bytes());
        // Readers look into the fields that Chakra's feeder reads: others are zero to them.
        const int expected = key == "comm_size" || key == "comm_type" ? 9
                             : key.starts_with("comm_")               ? 7
                                                                      : attribute.field();
        if (attribute.field() > 1 && attribute.is_integer() && attribute.field() == expected)
          node.attributes[key] = attribute.Integer();
      }
    }
    EXPECT_TRUE(nodes.emplace(name, node).second) << name;
  }
  return nodes;
}

// Input: x of the first task's host is copied to its GPU for a, which goes to the second task for b, which
// comes back. Law: each task is a rank, whose file has what its devices did and its end of both messages:
// sends in the one, receives in the other, with the same source, destination, tag and size. Nodes wait for
// the ends that are in their own file.
TEST(ChakraTest, TasksSendToEachOther) {
  ScratchFile file;
  SampleRun sample;
  sample.SplitIntoTasks();
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 1);
  writer.Close();
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  ASSERT_EQ(ChakraRanks(run), 2);
  auto first = WrittenNodes(run, 0), second = WrittenNodes(run, 1);
  const std::string t0 = "/job:worker/task:0/", t1 = "/job:worker/task:1/";
  const std::string to_gpu = "x " + t0 + "CPU:0 -> " + t0 + "GPU:0",
                    there = "a " + t0 + "GPU:0 -> " + t1 + "GPU:0",
                    back = "b " + t1 + "GPU:0 -> " + t0 + "CPU:0";
  EXPECT_EQ(first.size(), 5u);
  EXPECT_EQ(second.size(), 3u);
  constexpr int64_t kCompute = 4, kSend = 5, kReceive = 6;
  EXPECT_EQ(first[there].type, kSend);
  EXPECT_EQ(second[there].type, kReceive);
  EXPECT_EQ(second[back].type, kSend);
  EXPECT_EQ(first[back].type, kReceive);
  for (const auto& [name, from, to, bytes] : {std::tuple(there, 0, 1, 32), std::tuple(back, 1, 0, 16)}) {
    for (auto* nodes : {&first, &second}) {
      std::map<std::string, int64_t>& attributes = (*nodes)[name].attributes;
      EXPECT_EQ(attributes.at("comm_src"), from) << name;
      EXPECT_EQ(attributes.at("comm_dst"), to) << name;
      EXPECT_EQ(attributes.at("comm_size"), bytes) << name;
      EXPECT_EQ(attributes.at("is_cpu_op"), 0) << name;
    }
    EXPECT_EQ(first[name].attributes.at("comm_tag"), second[name].attributes.at("comm_tag"));
  }
  EXPECT_NE(first[there].attributes.at("comm_tag"), first[back].attributes.at("comm_tag"));
  EXPECT_EQ(first["a"].data, std::vector<std::string>{to_gpu});
  EXPECT_EQ(first[there].data, std::vector<std::string>{"a"});
  EXPECT_EQ(first[back].data, std::vector<std::string>{});
  EXPECT_EQ(second[there].data, std::vector<std::string>{});
  EXPECT_EQ(second["b"].type, kCompute);
  EXPECT_EQ(second["b"].data, std::vector<std::string>{there});
  EXPECT_EQ(second[back].data, std::vector<std::string>{"b"});
}

// Law: where there are no several tasks, copies between devices are no messages.
TEST(ChakraTest, DevicesOfOneTaskSendNothing) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 1);
  writer.Close();
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  ASSERT_EQ(ChakraRanks(run), 2);
  for (int rank = 0; rank < 2; ++rank) {
    for (const auto& [name, node] : WrittenNodes(run, rank)) {
      EXPECT_TRUE(node.type < 5) << name;
      EXPECT_FALSE(node.attributes.contains("comm_tag")) << name;
    }
  }
}

// NCCL runs an all-to-all as messages; its arguments say what it is, of which group, and of a message who
// sends it. A kernel that is no communication has no type of one, and lasts 2 us where it took 1.6.
TEST(ChakraTest, CommunicationSaysItsTypeItsGroupAndItsEnds) {
  ScratchFile in("rank.json"), out("rank.db");
  WriteFile(in.path(), R"json([
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 1.6, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args":
 {"correlation": 2, "Collective name": "all_to_allv", "In msg nelems": 4096, "Out msg nelems": 4096,
  "Group size": 4, "dtype": "BFloat16", "Process Group Name": "ep", "Process Group Ranks": "[0, 1, 2, 3]"}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Send", "pid": 0, "tid": 7, "ts": 20, "dur": 5, "args":
 {"correlation": 3, "Collective name": "send", "Src Rank": 0, "Dst Rank": 3}}])json");
  ImportTraces({in.path()}, out.path());
  auto nodes = WrittenNodes(TraceReader(out.path()).ReadRun(1), 0);
  EXPECT_FALSE(nodes["gemm"].attributes.contains("comm_type"));
  EXPECT_EQ(nodes["gemm"].length_us, 2);
  const WrittenNode& joined = nodes["ncclDevKernel_SendRecv"];
  EXPECT_EQ(joined.type, 7);
  EXPECT_EQ(joined.attributes.at("comm_type"), 6);
  EXPECT_EQ(joined.texts.at("pg_name"), "ep");
  EXPECT_EQ(joined.attributes.at("comm_size"), 8192);
  EXPECT_EQ(nodes["ncclDevKernel_Send"].type, 5);
  EXPECT_EQ(nodes["ncclDevKernel_Send"].attributes.at("comm_src"), 0);
  EXPECT_EQ(nodes["ncclDevKernel_Send"].attributes.at("comm_dst"), 3);
}

// As Chakra's own converter writes it: how long nodes took and what they waited for, never when they began.
// The kernel of 150 us waits for the op of 20 us, the all-reduce of 90 us on another stream for the kernel.
TEST(ChakraTest, NodesWithoutStartsAreLaidOutByWhatTheyWaitFor) {
  ScratchFile in("job.0.et");
  std::string packed;
  packed += '\x02';
  WriteFile(in.path(),
            WireWriter().Bytes(1, "0.0.4").Delimited() +
                ChakraNode(3, "ncclDevKernel_AllReduce", 7, 0, 90, {Attribute("stream", 9, 20)})
                    .Bytes(5, packed)
                    .Delimited() +
                ChakraNode(2, "gemm", 4, 0, 150, {Attribute("stream", 9, 7)}).Integer(5, 1).Delimited() +
                ChakraNode(1, "aten::mm", 4, 0, 20, {Attribute("is_cpu_op", 27, 1)}).Delimited());
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.laid_out, 1);
  EXPECT_EQ(OriginOfTimes(run.info), "laid out, not measured");
  ASSERT_EQ(run.launches.size(), 2u);
  EXPECT_EQ(run.Text(run.launches[0].name), "gemm");
  EXPECT_EQ(run.launches[0].start_ns, 20'000);
  EXPECT_EQ(run.launches[0].end_ns, 170'000);
  EXPECT_EQ(run.launches[1].start_ns, 170'000);
  EXPECT_EQ(run.launches[1].end_ns, 260'000);
  EXPECT_THAT(summary.notes, testing::Contains(testing::HasSubstr("not when they ran")));
}

// Nodes that wait for each other run never, and are counted.
TEST(ChakraTest, NodesInACircleAreLeftOut) {
  ScratchFile in("job.0.et");
  WriteFile(in.path(), WireWriter().Bytes(1, "0.0.4").Delimited() +
                           ChakraNode(1, "a", 4, 0, 10).Integer(4, 2).Delimited() +
                           ChakraNode(2, "b", 4, 0, 10).Integer(4, 1).Delimited() +
                           ChakraNode(3, "c", 4, 0, 10).Delimited());
  const auto [counts, run, summary] = ImportOf(in.path());
  EXPECT_EQ(counts.skipped, 2);
  EXPECT_EQ(run.launches.size(), 1u);
}

TEST(ChakraTest, ChakraTracesWithoutTimesAreRefused) {
  ScratchFile in("job.et");
  WriteFile(in.path(), WireWriter().Bytes(1, "0.0.4").Delimited() + ChakraNode(1, "a", 4, 0, 0).Delimited());
  EXPECT_EQ(CodeOfImport(in.path(), "says of no node when it ran"), Code::kInvalidArgument);
  WriteFile(in.path(), WireWriter().Bytes(1, "0.0.4").Delimited() +
                           "\x7f"
                           "abc");
  EXPECT_EQ(CodeOfImport(in.path(), "no Chakra trace"), Code::kDataLoss);
  WriteFile(in.path(), std::string(40, '\xff'));
  EXPECT_EQ(CodeOfImport(in.path()), Code::kDataLoss);
}

}  // namespace
}  // namespace lanescope::traces
