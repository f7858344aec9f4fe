// SPDX-License-Identifier: Apache-2.0
// String conversion and lookup tables: host ops by nature.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// Element by element; scalars are joined to every element.
void InferStringJoin(InferenceContext& context) {
  Shape shape;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (context.shape(i) != Shape{})
      shape = shape == Shape{} ? context.shape(i) : MergeShapes(shape, context.shape(i));
  }
  context.SetShape(0, shape);
}

// A reference to a table is a vector of two strings: container and name.
void InferTableRef(InferenceContext& context) { context.SetShape(0, {2}); }

// One value for each key.
void InferLookupFind(InferenceContext& context) { context.SetShape(0, context.shape(1)); }

void InferLookupExport(InferenceContext& context) {
  context.SetShape(0, UnknownOfRank(1));
  context.SetShape(1, UnknownOfRank(1));
}

}  // namespace

void RegisterStringOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("AsString(input: T) -> (output: string)",
     "T: {real, complex, string, bool, variant}; precision: int = -1; scientific: bool = false; shortest: "
     "bool = false; width: int = -1; fill: string = ''")
      .Infer(SameShape)
      .HostOnly();
  op("StringToNumber(string_tensor: string) -> (output: out_type)",
     "out_type: {index, float, double} = float")
      .Infer(SameShape)
      .HostOnly();
  op("StringJoin(inputs: N * string) -> (output: string)", "N: int >= 0; separator: string = ''")
      .Infer(InferStringJoin)
      .HostOnly();
  op("ScalarSummary(tags: string, values: T) -> (summary: string)", "T: real").Infer(ScalarOutput).HostOnly();
  op("HistogramSummary(tag: string, values: T) -> (summary: string)", "T: real = float")
      .Infer(ScalarOutput)
      .HostOnly();
  op("MergeSummary(inputs: N * string) -> (summary: string)", "N: int >= 1").Infer(ScalarOutput).HostOnly();
  op("StringToHashBucketFast(input: string) -> (output: int64)", "num_buckets: int >= 1")
      .Infer(SameShape)
      .HostOnly();
  op("StringToHashBucket(string_tensor: string) -> (output: int64)", "num_buckets: int >= 1")
      .Infer(SameShape)
      .HostOnly();
  op("HashTable() -> (table_handle: Ref(string))",
     "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: "
     "type; value_dtype: type")
      .Infer(InferTableRef)
      .Role(StateRole::kTable)
      .HostOnly()
      .Work(NoWork)
      .Stateful();
  op("MutableHashTable() -> (table_handle: Ref(string))",
     "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: "
     "type; value_dtype: type")
      .Infer(InferTableRef)
      .Role(StateRole::kTable)
      .HostOnly()
      .Work(NoWork)
      .Stateful();
  op("HashTableV2() -> (table_handle: resource)",
     "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: "
     "type; value_dtype: type")
      .Infer(ScalarOutput)
      .Role(StateRole::kTable)
      .HostOnly()
      .Work(NoWork)
      .Stateful();
  op("MutableHashTableV2() -> (table_handle: resource)",
     "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: "
     "type; value_dtype: type")
      .Infer(ScalarOutput)
      .Role(StateRole::kTable)
      .HostOnly()
      .Work(NoWork)
      .Stateful();
  op("LookupTableFind(table_handle: Ref(string), keys: Tin, default_value: Tout) -> (values: Tout)",
     "Tin: type; Tout: type")
      .Infer(InferLookupFind)
      .HostOnly();
  op("LookupTableFindV2(table_handle: resource, keys: Tin, default_value: Tout) -> (values: Tout)",
     "Tin: type; Tout: type")
      .Infer(InferLookupFind)
      .HostOnly()
      .Stateful();
  op("LookupTableImport(table_handle: Ref(string), keys: Tin, values: Tout) -> ()", "Tin: type; Tout: type")
      .HostOnly();
  op("LookupTableImportV2(table_handle: resource, keys: Tin, values: Tout) -> ()", "Tin: type; Tout: type")
      .HostOnly()
      .Stateful();
  op("LookupTableInsert(table_handle: Ref(string), keys: Tin, values: Tout) -> ()", "Tin: type; Tout: type")
      .HostOnly();
  op("LookupTableInsertV2(table_handle: resource, keys: Tin, values: Tout) -> ()", "Tin: type; Tout: type")
      .HostOnly()
      .Stateful();
  op("LookupTableSize(table_handle: Ref(string)) -> (size: int64)").Infer(ScalarOutput).HostOnly();
  op("LookupTableSizeV2(table_handle: resource) -> (size: int64)").Infer(ScalarOutput).HostOnly().Stateful();
  op("LookupTableExport(table_handle: Ref(string)) -> (keys: Tkeys, values: Tvalues)",
     "Tkeys: type; Tvalues: type")
      .Infer(InferLookupExport)
      .HostOnly();
  op("LookupTableExportV2(table_handle: resource) -> (keys: Tkeys, values: Tvalues)",
     "Tkeys: type; Tvalues: type")
      .Infer(InferLookupExport)
      .HostOnly()
      .Stateful();
  op("InitializeTable(table_handle: Ref(string), keys: Tkey, values: Tval) -> ()", "Tkey: type; Tval: type")
      .HostOnly();
  op("InitializeTableV2(table_handle: resource, keys: Tkey, values: Tval) -> ()", "Tkey: type; Tval: type")
      .HostOnly()
      .Stateful();
}

}  // namespace lanescope::ops
