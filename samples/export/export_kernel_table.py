"""Writes core/data/kernels.tsv: which device types have a kernel for an op, taken from TensorFlow's registry.

The Linux wheel is the CUDA build and registers its GPU kernels whether or not a GPU is present. Kernels of
the device type DEFAULT serve any device that has no kernel of its own for the same attributes; they are
written out here as rows of CPU and GPU, so that the table needs no such rule. Rows that differ in one
type list only are merged.
"""

import collections
import itertools

import sample_graphs
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import kernels

_DEVICES = ('CPU', 'GPU')
_TABLE = sample_graphs.REPOSITORY / 'core' / 'data' / 'kernels.tsv'

# Ops beyond those of the sample graphs.
_FAMILIES = {
    'element-wise, one input':
        '''
        Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Elu Erf Erfc Erfinv Exp Expm1 Floor Inv
        Invert IsFinite IsInf IsNan LeakyRelu Lgamma Log Log1p LogicalNot Neg Reciprocal Relu Relu6 Rint
        Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh Cast Bitcast
        ClipByValue Ndtri''',
    'element-wise, two inputs':
        '''
        Add AddV2 Atan2 ApproximateEqual BitwiseAnd BitwiseOr BitwiseXor Div DivNoNan Equal FloorDiv
        FloorMod Greater GreaterEqual LeftShift Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Mul
        MulNoNan NotEqual Pow RealDiv RightShift SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlogy
        AddN AccumulateNV2 Select SelectV2 Xlog1py''',
    'element-wise gradients':
        '''
        EluGrad InvGrad LeakyReluGrad ReciprocalGrad Relu6Grad ReluGrad RsqrtGrad SeluGrad SigmoidGrad
        SoftplusGrad SoftsignGrad SqrtGrad TanhGrad''',
    'reductions':
        '''
        All Any ArgMax ArgMin Bincount Cumprod Cumsum EuclideanNorm L2Loss Max Mean Min Prod SegmentMax
        SegmentMean SegmentMin SegmentProd SegmentSum SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum
        Sum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum TopK TopKV2 InTopK
        InTopKV2 SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad
        SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments SparseSegmentSumWithNumSegments''',
    'array':
        '''
        BatchToSpaceND BroadcastArgs BroadcastGradientArgs BroadcastTo CheckNumerics Concat ConcatOffset
        ConcatV2 Const DepthToSpace Diag DiagPart DynamicPartition DynamicStitch EnsureShape ExpandDims Fill
        Gather GatherNd GatherV2 Identity IdentityN InvertPermutation LinSpace MatrixBandPart MatrixDiag
        MatrixDiagPart MirrorPad OneHot OnesLike Pack Pad PadV2 ParallelConcat ParallelDynamicStitch
        Placeholder PlaceholderWithDefault PreventGradient Range Rank Reshape Reverse ReverseSequence
        ReverseV2 ScatterNd Shape ShapeN Size Slice Snapshot SpaceToBatchND SpaceToDepth Split SplitV
        Squeeze StopGradient StridedSlice StridedSliceGrad TensorScatterAdd TensorScatterUpdate Tile
        Transpose Unique UniqueV2 UniqueWithCounts Unpack Where ZerosLike ListDiff CheckNumericsV2
        ConjugateTranspose MirrorPadGrad SparseToDense UniqueWithCountsV2 PlaceholderV2''',
    'linear algebra':
        '''
        BatchMatMul BatchMatMulV2 Cholesky Einsum MatMul MatrixInverse SparseMatMul''',
    'network':
        '''
        AvgPool AvgPoolGrad BiasAdd BiasAddGrad BiasAddV1 Conv2D Conv2DBackpropFilter Conv2DBackpropInput
        Conv3D DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput
        FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2
        FusedBatchNormV3 LRN LRNGrad LogSoftmax MaxPool MaxPoolGrad MaxPoolGradGrad MaxPoolGradV2 MaxPoolV2
        MaxPoolWithArgmax ResizeBilinear ResizeNearestNeighbor Softmax SoftmaxCrossEntropyWithLogits
        SparseSoftmaxCrossEntropyWithLogits''',
    'random':
        '''
        Multinomial ParameterizedTruncatedNormal RandomGamma RandomShuffle RandomStandardNormal
        RandomUniform RandomUniformInt StatelessRandomNormal StatelessRandomUniform StatelessTruncatedNormal
        TruncatedNormal StatelessRandomUniformInt''',
    'state':
        '''
        Assign AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp AssignVariableOp CountUpTo
        DestroyResourceOp DestroyTemporaryVariable IsVariableInitialized ReadVariableOp ResourceGather
        ResourceScatterAdd ResourceScatterSub ResourceScatterUpdate ScatterAdd ScatterDiv ScatterMax
        ScatterMin ScatterMul ScatterNdAdd ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate
        TemporaryVariable VarHandleOp VarIsInitializedOp Variable VariableShape VariableV2 ResourceGatherNd
        ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul''',
    'optimizers':
        '''
        ApplyAdadelta ApplyAdagrad ApplyAdagradV2 ApplyAdam ApplyAddSign ApplyCenteredRMSProp ApplyFtrl
        ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyPowerSign ApplyProximalGradientDescent
        ApplyRMSProp ResourceApplyAdagrad ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyFtrl
        ResourceApplyFtrlV2 ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum
        ResourceApplyRMSProp ResourceSparseApplyAdagrad ResourceSparseApplyMomentum SparseApplyAdagrad
        SparseApplyFtrl SparseApplyMomentum SparseApplyRMSProp ResourceApplyAdadelta SparseApplyAdadelta
        ResourceSparseApplyAdadelta SparseApplyAdagradV2 ResourceSparseApplyAdagradV2
        ResourceSparseApplyRMSProp ResourceSparseApplyKerasMomentum ResourceApplyCenteredRMSProp
        SparseApplyCenteredRMSProp ResourceSparseApplyCenteredRMSProp ResourceApplyProximalGradientDescent
        SparseApplyProximalGradientDescent ResourceSparseApplyProximalGradientDescent ApplyProximalAdagrad
        ResourceApplyProximalAdagrad SparseApplyProximalAdagrad ResourceSparseApplyProximalAdagrad
        SparseApplyFtrlV2 ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2''',
    'tables, strings, input':
        '''
        AsString DecodeCSV DecodeRaw HashTable HashTableV2 InitializeTable InitializeTableFromTextFile
        InitializeTableFromTextFileV2 InitializeTableV2 LookupTableFind LookupTableFindV2 LookupTableImport
        LookupTableImportV2 LookupTableSize LookupTableSizeV2 MutableHashTableV2 ReadFile StringJoin
        StringSplit StringToHashBucketFast StringToNumber ReduceJoin Substr TextLineReader TextLineReaderV2
        TFRecordReaderV2 ReaderRead ReaderReadV2 ReaderReadUpToV2 ParseExample ParseSingleExample
        LookupTableExport LookupTableExportV2 LookupTableInsert LookupTableInsertV2 MutableHashTable
        StringToHashBucket''',
    'queues and accumulators':
        '''
        FIFOQueue FIFOQueueV2 PaddingFIFOQueueV2 PriorityQueueV2 RandomShuffleQueue RandomShuffleQueueV2
        QueueClose QueueCloseV2 QueueDequeue QueueDequeueManyV2 QueueDequeueUpToV2 QueueDequeueV2
        QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosedV2 QueueSize QueueSizeV2 AccumulatorApplyGradient
        AccumulatorNumAccumulated AccumulatorSetGlobalStep AccumulatorTakeGradient ConditionalAccumulator
        SparseConditionalAccumulator Barrier Stage StageSize Unstage''',
    'control and communication':
        '''
        Abort Assert ControlTrigger Enter Exit LoopCond Merge NextIteration NoOp RefEnter RefExit
        RefIdentity RefMerge RefNextIteration RefSelect RefSwitch Switch _Arg _HostRecv _HostSend _Recv
        _Retval _Send NcclAllReduce NcclBroadcast NcclReduce Print PrintV2 Timestamp PyFunc''',
    'summaries and saving':
        '''
        HistogramSummary MergeSummary MergeV2Checkpoints Restore RestoreSlice RestoreV2 Save SaveSlices
        SaveV2 ScalarSummary ShardedFilename''',
}

Kernel = collections.namedtuple('Kernel', 'op device constraints host_memory priority label')


def _wanted_ops():
  ops = set()
  for names in _FAMILIES.values():
    ops.update(names.split())
  for path in sample_graphs.GRAPH_DIR.glob('*.pbtxt'):
    ops.update(node.op for node in sample_graphs.load_graph_def(path).node)
  return ops


def _registered(ops):
  """Kernels of the wanted ops, each with one type per constrained attribute."""
  for kernel in kernels.get_all_registered_kernels().kernel:
    if kernel.op not in ops or kernel.device_type not in _DEVICES + ('DEFAULT',):
      continue
    choices = [[(c.name, tf.as_dtype(t).name) for t in c.allowed_values.list.type] for c in kernel.constraint]
    for combination in itertools.product(*choices):
      yield Kernel(kernel.op, kernel.device_type, frozenset(combination),
                   tuple(sorted(kernel.host_memory_arg)), kernel.priority, kernel.label)


def _resolve_default(rows):
  """Replaces DEFAULT rows by CPU and GPU rows where no row of that device serves the same attributes."""
  own = collections.defaultdict(list)
  for row in rows:
    own[row.op, row.device, row.label].append(row.constraints)
  resolved = [row for row in rows if row.device != 'DEFAULT']
  for row in rows:
    if row.device != 'DEFAULT':
      continue
    for device in _DEVICES:
      served = own[row.op, device, row.label]
      if any(constraints <= row.constraints for constraints in served):
        continue
      if any(row.constraints < constraints for constraints in served):
        raise ValueError(f'{row.op}: a {device} kernel serves only a part of a default kernel')
      resolved.append(row._replace(device=device))
  return sorted(set(resolved), key=lambda r: (r.op, r.device, r.label, sorted(r.constraints)))


def _merge(rows):
  """Joins rows that agree but for the type list of one attribute, until nothing more joins."""
  merged = {}
  for row in rows:
    key = (row.op, row.device, row.host_memory, row.priority, row.label)
    merged.setdefault(key, []).append({name: frozenset([kind]) for name, kind in row.constraints})
  result = []
  for key, constraint_sets in merged.items():
    for attribute in sorted({name for c in constraint_sets for name in c}):
      groups = collections.OrderedDict()
      for constraints in constraint_sets:
        rest = frozenset((n, k) for n, k in constraints.items() if n != attribute)
        groups.setdefault((rest, attribute in constraints), set()).update(constraints.get(attribute, ()))
      constraint_sets = [
          dict(rest, **({
              attribute: frozenset(kinds)
          } if present else {})) for (rest, present), kinds in groups.items()
      ]
    result.extend((key, constraints) for constraints in constraint_sets)
  return result


def _line(key, constraints):
  op, device, host_memory, priority, label = key
  types = ';'.join(f'{name}={",".join(sorted(kinds))}' for name, kinds in sorted(constraints.items()))
  return '\t'.join((op, device, types, ','.join(host_memory), str(priority), label))


def main():
  ops = _wanted_ops()
  rows = _resolve_default(list(_registered(ops)))
  lines = sorted(_line(key, constraints) for key, constraints in _merge(rows))
  header = (f'# Kernels registered by TensorFlow {tf2.__version__} (CUDA build); no constraint: any type.\n'
            '# op\tdevice_type\tconstraints\thost_memory_args\tpriority\tlabel\n')
  _TABLE.write_text(header + '\n'.join(lines) + '\n')
  found = {row.op for row in rows}
  print(f'{len(lines)} rows, {len(found)} ops; without kernel: {" ".join(sorted(ops - found))}')


if __name__ == '__main__':
  main()
