#include "core/kernel_table.h"

#include <gtest/gtest.h>

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
  node.inputs = {{0, 0}, {1, 0}};
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
  node.inputs = {{0, 0}, {1, 0}, {2, 0}, {3, 0}};
  EXPECT_EQ(Table().HostInputs(node, "GPU"), (std::vector<bool>{false, false, false, true}));
}

}  // namespace
}  // namespace lanescope
