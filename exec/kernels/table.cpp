// SPDX-License-Identifier: Apache-2.0
// Lookup table ops. The table lives in the session; its handle's node makes it, or whichever op meets it
// first.
#include <mutex>
#include <shared_mutex>

#include "exec/kernels/lookup_table.h"
#include "exec/kernels/string_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// The table behind `input` (-1: of this node). The types are those that this node expects.
LookupTable& TableOf(KernelContext& context, int input, DataType key, DataType value) {
  Resource& resource = context.FindOrCreateResource(
      input, [&]() -> std::unique_ptr<Resource> { return MakeLookupTable(key, value); });
  auto* table = dynamic_cast<LookupTable*>(&resource);
  if (table == nullptr) Throw(Code::kInvalidArgument, "the handle is not that of a lookup table");
  if (table->key_type() != key || table->value_type() != value) {
    Throw(Code::kInvalidArgument, "Conflicting key/value dtypes {}->{} with {}->{} for table",
          DataTypeName(key), DataTypeName(value), DataTypeName(table->key_type()),
          DataTypeName(table->value_type()));
  }
  return *table;
}

class HashTableKernel : public Kernel {
 public:
  explicit HashTableKernel(const Node& node)
      : key_(node.TypeAttr("key_dtype")), value_(node.TypeAttr("value_dtype")) {}

  void Compute(KernelContext& context) override { TableOf(context, -1, key_, value_); }

 private:
  DataType key_, value_;
};

void ComputeInitialize(KernelContext& context) {
  const TensorRef& keys = context.input(1);
  const TensorRef& values = context.input(2);
  LookupTable& table = TableOf(context, 0, keys.dtype, values.dtype);
  const std::unique_lock<std::shared_mutex> lock(table.mutex);
  table.Initialize(keys, values);
}

void ComputeFind(KernelContext& context) {
  const TensorRef& keys = context.input(1);
  const TensorRef& fallback = context.input(2);
  LookupTable& table = TableOf(context, 0, keys.dtype, fallback.dtype);
  const std::shared_lock<std::shared_mutex> lock(table.mutex);
  if (!table.initialized())
    Throw(Code::kFailedPrecondition, "Table not initialized. Run its initializer first");
  if (fallback.NumElements() != 1) {
    Throw(Code::kInvalidArgument, "the default value must be a scalar, not of shape {}",
          fallback.shape.ToString());
  }
  ShapeOutput(context, 0, keys.shape);
  table.Find(keys, fallback, context.output(), context.team());
}

void ComputeTableSize(KernelContext& context) {
  ShapeOutput(context, 0, Shape{});
  Resource& resource = context.FindOrCreateResource(0, [&]() -> std::unique_ptr<Resource> {
    Throw(Code::kFailedPrecondition, "Table not initialized. Run its initializer first");
  });
  auto* table = dynamic_cast<LookupTable*>(&resource);
  if (table == nullptr) Throw(Code::kInvalidArgument, "the handle is not that of a lookup table");
  const std::shared_lock<std::shared_mutex> lock(table->mutex);
  *context.output().as<int64_t>() = table->size();
}

}  // namespace

void RegisterTableKernels(KernelRegistry& registry) {
  for (const std::string suffix : {"", "V2"}) {
    registry.Register("HashTable" + suffix, MakeKernel<HashTableKernel>);
    registry.Register("InitializeTable" + suffix, MakeFunctionKernel<ComputeInitialize>);
    registry.Register("LookupTableImport" + suffix, MakeFunctionKernel<ComputeInitialize>);
    registry.Register("LookupTableFind" + suffix, MakeFunctionKernel<ComputeFind>);
    registry.Register("LookupTableSize" + suffix, MakeFunctionKernel<ComputeTableSize>);
  }
}

}  // namespace lanescope::exec
