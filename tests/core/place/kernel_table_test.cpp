// SPDX-License-Identifier: Apache-2.0
#include "core/place/kernel_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/graph/recorded_signatures.h"

namespace lanescope {
namespace {

Node MakeNode(const std::string& op, std::initializer_list<std::pair<const char*, DataType>> types) {
  Node node;
  node.name = "n";
  node.op = op;
  for (const auto& [attr, type] : types) node.attrs[attr] = type;
  return node;
}

const KernelTable& Table() { return KernelTable::Global(); }

TEST(KernelTableTest, TypesDecide) {
  EXPECT_NE(Table().Find(MakeNode("MatMul", {{"T", DataType::kFloat}}), "GPU"), nullptr);
  EXPECT_EQ(Table().Find(MakeNode("MatMul", {{"T", DataType::kInt32}}), "GPU"), nullptr);
  EXPECT_NE(Table().Find(MakeNode("MatMul", {{"T", DataType::kInt32}}), "CPU"), nullptr);
  EXPECT_EQ(Table().Find(MakeNode("MatMul", {}), "GPU"), nullptr)
      << "an attribute without default is missing";
  EXPECT_EQ(Table().Find(MakeNode("VariableV2", {{"dtype", DataType::kInt32}}), "GPU"), nullptr);
  EXPECT_EQ(Table().Find(MakeNode("MatMul", {{"T", DataType::kFloat}}), "TPU"), nullptr);
}

TEST(KernelTableTest, HostOnlyOps) {
  EXPECT_NE(Table().Find(MakeNode("LookupTableFindV2", {}), "CPU"), nullptr);
  EXPECT_EQ(Table().Find(MakeNode("LookupTableFindV2", {}), "GPU"), nullptr);
}

// TensorFlow 2.15 registers kernels for 1,543 op types, of which 117 serve only nodes that its own rewriting
// makes (by a label); most of the others have no definition here.
TEST(KernelTableTest, HoldsEveryOpOfTensorFlow) {
  int with_kernel = 0, cpu_only = 0;
  for (const std::string_view op : RecordedOps()) {
    const auto& entries = Table().Entries(op);
    with_kernel += !entries.empty();
    cpu_only += !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const KernelEntry& entry) {
      return entry.device_type == "CPU";
    });
  }
  EXPECT_EQ(with_kernel, 1426);
  EXPECT_EQ(cpu_only, 607);
  EXPECT_EQ(Table().Find(MakeNode("StringLower", {}), "GPU"), nullptr);
  EXPECT_NE(Table().Find(MakeNode("StringLower", {}), "CPU"), nullptr);
}

// By its signature an op without a definition has host arguments, too: where the diagonals go.
TEST(KernelTableTest, HostMemoryOfAnOpWithoutADefinition) {
  Node node = MakeNode("MatrixDiagV3", {{"T", DataType::kFloat}});
  node.inputs = {{NodeId(0), 0}, {NodeId(1), 0}, {NodeId(2), 0}, {NodeId(3), 0}, {NodeId(4), 0}};
  EXPECT_EQ(Table().HostInputs(node, "GPU"), (std::vector<bool>{false, true, true, true, true}));
  EXPECT_EQ(Table().HostOutputs(node, "GPU"), (std::vector<bool>{false}));
}

TEST(KernelTableTest, UnknownOpsRunAnywhere) {
  EXPECT_TRUE(Table().Entries("SomebodysOp").empty());
  EXPECT_NE(Table().Find(MakeNode("SomebodysOp", {}), "GPU"), nullptr);
  EXPECT_TRUE(Table().HostInputs(MakeNode("SomebodysOp", {}), "GPU").empty());
}

TEST(KernelTableTest, DeclaredOpsHaveNoKernel) {
  KernelTable table;
  table.Declare("Nothing");
  EXPECT_EQ(table.Find(MakeNode("Nothing", {}), "CPU"), nullptr);
  table.Add("Nothing", {"CPU", {}, {}, 3});
  ASSERT_NE(table.Find(MakeNode("Nothing", {}), "CPU"), nullptr);
  EXPECT_EQ(table.Find(MakeNode("Nothing", {}), "CPU")->priority, 3);
}

// A Reshape reads its shape in host memory; int32 data stays there as a whole.
TEST(KernelTableTest, HostMemoryArguments) {
  Node node = MakeNode("Reshape", {{"T", DataType::kFloat}, {"Tshape", DataType::kInt32}});
  node.inputs = {{NodeId(0), 0}, {NodeId(1), 0}};
  EXPECT_EQ(Table().HostInputs(node, "GPU"), (std::vector<bool>{false, true}));
  EXPECT_EQ(Table().HostOutputs(node, "GPU"), (std::vector<bool>{false}));
  node.attrs["T"] = DataType::kInt32;
  EXPECT_EQ(Table().HostInputs(node, "GPU"), (std::vector<bool>{true, true}));
  EXPECT_EQ(Table().HostOutputs(node, "GPU"), (std::vector<bool>{true}));
}

// The axis is the last flat input, whatever the number of tensors before it.
TEST(KernelTableTest, HostMemoryAfterAList) {
  Node node = MakeNode("ConcatV2", {{"T", DataType::kFloat}, {"Tidx", DataType::kInt32}});
  node.attrs["N"] = int64_t{3};
  node.inputs = {{NodeId(0), 0}, {NodeId(1), 0}, {NodeId(2), 0}, {NodeId(3), 0}};
  EXPECT_EQ(Table().HostInputs(node, "GPU"), (std::vector<bool>{false, false, false, true}));
}

}  // namespace
}  // namespace lanescope
