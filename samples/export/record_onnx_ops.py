#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models of single ops, each with what onnxruntime computes with it, for tests/golden/onnx_ops.

A model holds its result as a constant and makes one number, `error`: how far it is from that. Its inputs are the numbers that
Lanescope feeds by itself (feeds.py), spread over -2 to 2.

FOLDER/../onnx_names has two models more, of names that no node may have and of floats of 16 bits.

Wants onnx and onnxruntime. Usage: record_onnx_ops.py FOLDER
"""

import pathlib
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import feeds

onnxruntime.set_default_logger_severity(4)
node, info = helper.make_node, helper.make_tensor_value_info
random = numpy.random.default_rng(7)
CASES = {}


def floats(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def array(values, dtype=numpy.int64):
    return numpy.array(values, dtype)


def case(name, opset, inputs, weights, nodes, outputs=("y",), functions=(), domains=(), recorded=None):
    """`recorded`: the nodes that onnxruntime runs in place of `nodes`, where it lacks an attribute of those."""
    CASES[name] = (opset, inputs, weights, nodes, outputs, functions, domains, recorded or nodes)


def initializer(name, value):
    return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(numpy.asarray(value), name)


def elements():
    for op, opset, attrs in (("Mish", 22, {}), ("Celu", 22, {"alpha": 1.5}), ("Selu", 22, {}), ("Elu", 22, {"alpha": 0.7}),
                             ("ThresholdedRelu", 22, {"alpha": 0.3}), ("Shrink", 9, {"bias": 0.2, "lambd": 0.4}),
                             ("HardSwish", 22, {}), ("Gelu", 20, {"approximate": "tanh"}), ("Swish", 24, {"alpha": 1.3})):
        case(op.lower(), opset, {"x": (4, 6)}, {}, [node(op, ["x"], ["y"], **attrs)])


def norms():
    vector = {"s": floats(8), "b": floats(8)}
    case("rms_norm", 23, {"x": (2, 6, 8)}, {"s": floats(8)}, [node("RMSNormalization", ["x", "s"], ["y"], axis=-1)])
    case("group_norm", 21, {"x": (2, 8, 5, 3)}, vector,
         [node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=4, epsilon=1e-3)])
    case("instance_norm", 22, {"x": (2, 8, 5, 3)}, vector, [node("InstanceNormalization", ["x", "s", "b"], ["y"])])
    case("lp_norm", 22, {"x": (2, 6)}, {}, [node("LpNormalization", ["x"], ["y"], axis=-1, p=2)])
    case("mean_variance_norm", 13, {"x": (2, 3, 4, 4)}, {}, [node("MeanVarianceNormalization", ["x"], ["y"])])
    case("log_sum_exp", 18, {"x": (2, 6)}, {"a": array([1])}, [node("ReduceLogSumExp", ["x", "a"], ["y"])])


def attention():
    grouped = {"q": (2, 4, 6, 8), "k": (2, 2, 6, 8), "v": (2, 2, 6, 8)}
    case("attention_causal", 23, grouped, {}, [node("Attention", ["q", "k", "v"], ["y"], is_causal=1)])
    case("attention_mask", 23, {"q": (1, 2, 4, 8), "k": (1, 2, 6, 8), "v": (1, 2, 6, 8)}, {"m": floats(4, 6)},
         [node("Attention", ["q", "k", "v", "m"], ["y"], scale=0.3)])
    case("attention_joined", 23, {"q": (2, 6, 32), "k": (2, 6, 16), "v": (2, 6, 16)}, {"m": random.random((6, 6)) > 0.2},
         [node("Attention", ["q", "k", "v", "m"], ["y"], q_num_heads=4, kv_num_heads=2)])
    case("attention_cache", 23, {"q": (2, 4, 1, 8), "k": (2, 2, 1, 8), "v": (2, 2, 1, 8), "pk": (2, 2, 4, 8), "pv": (2, 2, 4, 8)},
         {}, [node("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "nk", "nv"])], ("y", "nk", "nv"))
    case("attention_causal_cache", 23, {"q": (1, 2, 3, 8), "k": (1, 2, 3, 8), "v": (1, 2, 3, 8), "pk": (1, 2, 4, 8), "pv": (1, 2, 4, 8)},
         {}, [node("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "nk", "nv"], is_causal=1)], ("y", "nk", "nv"))
    case("attention_softcap", 23, {"q": (1, 2, 4, 8), "k": (1, 2, 6, 8), "v": (1, 2, 6, 8)}, {"m": floats(4, 6)},
         [node("Attention", ["q", "k", "v", "m"], ["y"], softcap=2.0)])
    case("attention_blind", 23, {"q": (1, 2, 3, 8), "k": (1, 2, 3, 8), "v": (1, 2, 3, 8)}, {"m": array([[0, 0, 0], [1, 0, 1], [1, 1, 1]], bool)},
         [node("Attention", ["q", "k", "v", "m"], ["y"])])
    case("rotary", 23, {"x": (2, 4, 6, 8)}, {"c": floats(10, 4), "s": floats(10, 4), "p": array([[0, 1, 2, 3, 4, 5]] * 2)},
         [node("RotaryEmbedding", ["x", "c", "s", "p"], ["y"])])
    case("rotary_joined", 23, {"x": (2, 6, 32)}, {"c": floats(2, 6, 2), "s": floats(2, 6, 2)},
         [node("RotaryEmbedding", ["x", "c", "s"], ["y"], num_heads=4, interleaved=1, rotary_embedding_dim=4)])


def convolutions():
    case("conv_groups", 22, {"x": (2, 6, 7, 5)}, {"w": floats(4, 3, 3, 3), "b": floats(4)},
         [node("Conv", ["x", "w", "b"], ["y"], group=2, pads=[1, 0, 1, 2], strides=[2, 1])])
    case("conv_line", 22, {"x": (2, 4, 9)}, {"w": floats(6, 4, 3), "b": floats(6)},
         [node("Conv", ["x", "w", "b"], ["y"], pads=[2, 1], dilations=[2])])
    case("conv_line_depthwise", 22, {"x": (2, 4, 9)}, {"w": floats(4, 1, 3)}, [node("Conv", ["x", "w"], ["y"], group=4)])
    case("conv_volume", 22, {"x": (1, 2, 5, 6, 4)}, {"w": floats(3, 2, 3, 3, 3), "b": floats(3)},
         [node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 0, 1, 1, 1])])
    case("conv_transpose", 22, {"x": (1, 4, 5, 5)}, {"w": floats(4, 3, 2, 2)},
         [node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2])])
    case("conv_transpose_pads", 22, {"x": (2, 4, 5, 4)}, {"w": floats(4, 3, 3, 3), "b": floats(6)},
         [node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 3], pads=[1, 0, 1, 1], output_padding=[1, 2], group=2)])
    case("conv_transpose_shape", 22, {"x": (1, 2, 3, 3)}, {"w": floats(2, 2, 3, 3)},
         [node("ConvTranspose", ["x", "w"], ["y"], strides=[3, 2], output_shape=[10, 8])])
    case("conv_transpose_line", 22, {"x": (1, 2, 5)}, {"w": floats(2, 3, 4)},
         [node("ConvTranspose", ["x", "w"], ["y"], strides=[2], auto_pad="SAME_UPPER")])
    case("fused_conv", 22, {"x": (1, 4, 5, 5)}, {"w": floats(4, 4, 3, 3), "b": floats(4)},
         [node("FusedConv", ["x", "w", "b"], ["y"], activation="Relu", pads=[1] * 4, domain="com.microsoft")],
         domains=("com.microsoft",))
    case("max_pool_ceil", 22, {"x": (1, 2, 6, 7)}, {},
         [node("MaxPool", ["x"], ["y"], kernel_shape=[3, 2], strides=[2, 2], pads=[0, 1, 0, 0], ceil_mode=1)])
    case("average_pool_line", 22, {"x": (1, 2, 9)}, {}, [node("AveragePool", ["x"], ["y"], kernel_shape=[3], pads=[1, 1])])


def resizing():
    scales = {"s": array([1, 1, 1.7, 0.6], numpy.float32)}
    for mode, place, extra in (("nearest", "asymmetric", {"nearest_mode": "floor"}), ("nearest", "half_pixel", {}),
                               ("linear", "half_pixel", {}), ("linear", "align_corners", {}),
                               ("linear", "pytorch_half_pixel", {}), ("cubic", "half_pixel", {"cubic_coeff_a": -0.5})):
        case(f"resize_{mode}_{place}", 19, {"x": (1, 2, 6, 5)}, scales,
             [node("Resize", ["x", "", "s"], ["y"], mode=mode, coordinate_transformation_mode=place, **extra)])
    case("resize_sizes", 19, {"x": (1, 2, 6, 5)}, {"s": array([1, 2, 4, 9])},
         [node("Resize", ["x", "", "", "s"], ["y"], mode="linear")])


def recurrent():
    for op, gates, extra in (("LSTM", 4, {}), ("GRU", 3, {}), ("GRU", 3, {"linear_before_reset": 1}), ("RNN", 1, {})):
        weights = {"w": floats(2, gates * 6, 4) / 2, "r": floats(2, gates * 6, 6) / 2, "b": floats(2, 2 * gates * 6), "h": floats(2, 3, 6)}
        outputs, names = ["y", "yh"], ["x", "w", "r", "b", "", "h"]
        if op == "LSTM":
            weights.update(c=floats(2, 3, 6), p=floats(2, 18))
            outputs, names = [*outputs, "yc"], [*names, "c", "p"]
        case(f"{op.lower()}_both_ways{'_late' if extra else ''}", 14, {"x": (5, 3, 4)}, weights,
             [node(op, names, outputs, hidden_size=6, direction="bidirectional", **extra)], outputs)
    case("lstm_plain", 14, {"x": (5, 3, 4)}, {"w": floats(1, 24, 4), "r": floats(1, 24, 6)},
         [node("LSTM", ["x", "w", "r"], ["y"], hidden_size=6)])


def control():
    yes = helper.make_graph([node("Add", ["x", "x"], ["t"])], "yes", [], [info("t", TensorProto.FLOAT, [4])])
    no = helper.make_graph([node("Mul", ["x", "x"], ["e"])], "no", [], [info("e", TensorProto.FLOAT, [4])])
    case("if_constant", 21, {"x": (4,)}, {"c": numpy.array(False)}, [node("If", ["c"], ["y"], then_branch=yes, else_branch=no)])
    case("if_computed", 21, {"x": (4,)}, {"z": numpy.float32(0)},
         [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "z"], ["c"]),
          node("If", ["c"], ["y"], then_branch=yes, else_branch=no)])
    float_, int_, bool_ = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
    body = helper.make_graph([node("MatMul", ["h", "w"], ["m"]), node("Tanh", ["m"], ["h2"]), node("Identity", ["c"], ["c2"]),
                              node("Identity", ["h2"], ["each"])], "body",
                             [info("i", int_, []), info("c", bool_, []), info("h", float_, [2, 8])],
                             [info("c2", bool_, []), info("h2", float_, [2, 8]), info("each", float_, [2, 8])])
    case("loop", 21, {"x": (2, 8)}, {"n": numpy.int64(5), "t": numpy.array(True), "w": floats(8, 8) / 2},
         [node("Loop", ["n", "t", "x"], ["y", "all"], body=body)], ("y", "all"))
    scanned = helper.make_graph([node("Add", ["s", "e"], ["s2"]), node("Identity", ["s2"], ["o"])], "scanned",
                                [info("s", float_, [3]), info("e", float_, [3])], [info("s2", float_, [3]), info("o", float_, [3])])
    case("scan", 21, {"x": (6, 3)}, {"s0": numpy.zeros(3, numpy.float32)},
         [node("Scan", ["s0", "x"], ["sf", "ys"], num_scan_inputs=1, body=scanned, scan_input_directions=[1])], ("sf", "ys"))
    scaled = helper.make_function("local", "Scaled", ["a"], ["b"],
                                  [node("Elu", ["a"], ["e"]), node("Add", ["e", "a"], ["b"])], [helper.make_opsetid("", 21)], ["alpha"])
    scaled.node[0].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT))
    case("function", 21, {"x": (4,)}, {}, [node("Scaled", ["x"], ["t"], domain="local", alpha=0.5), node("Relu", ["t"], ["y"])],
         functions=(scaled,), domains=("local",))


def quantized():
    case("quantize", 21, {"x": (4, 6)}, {"s": numpy.float32(0.02), "z": numpy.uint8(100)},
         [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])], ("q", "y"))
    case("dequantize_axis", 21, {"x": (2, 6)}, {"q": random.integers(-127, 127, (6, 4)).astype(numpy.int8), "s": abs(floats(4))},
         [node("DequantizeLinear", ["q", "s"], ["w"], axis=1), node("MatMul", ["x", "w"], ["y"])])
    four = helper.make_tensor("q", TensorProto.INT4, [6, 4], random.integers(-8, 8, 24).tolist())
    case("dequantize_int4", 21, {"x": (2, 6)}, {"q": four, "s": abs(floats(3, 4))},
         [node("DequantizeLinear", ["q", "s"], ["w"], axis=0, block_size=2), node("MatMul", ["x", "w"], ["y"])])
    eight = helper.make_tensor("q", TensorProto.FLOAT8E4M3FN, [6, 4], floats(24).tolist())
    case("dequantize_float8", 21, {"x": (2, 6)}, {"q": eight, "s": numpy.float32(0.5)},
         [node("DequantizeLinear", ["q", "s"], ["w"]), node("MatMul", ["x", "w"], ["y"])])
    case("dynamic_quantize", 21, {"x": (3, 4)}, {"w": random.integers(0, 255, (4, 5)).astype(numpy.uint8), "z": numpy.uint8(7)},
         [node("DynamicQuantizeLinear", ["x"], ["q", "s", "p"]), node("MatMulInteger", ["q", "w", "p", "z"], ["y"])], ("q", "s", "p", "y"))


def indices():
    case("top_k", 21, {"x": (3, 10)}, {"k": array([4])}, [node("TopK", ["x", "k"], ["v", "i"], axis=-1)], ("v", "i"))
    case("top_k_smallest", 21, {"x": (6, 3)}, {"k": array([2])}, [node("TopK", ["x", "k"], ["v", "i"], axis=0, largest=0)], ("v", "i"))
    case("scatter_nd", 18, {"x": (5, 3), "u": (2, 3)}, {"i": array([[1], [-1]])}, [node("ScatterND", ["x", "i", "u"], ["y"])])
    case("scatter_nd_add", 18, {"x": (5, 3), "u": (3, 3)}, {"i": array([[1], [3], [1]])},
         [node("ScatterND", ["x", "i", "u"], ["y"], reduction="add")])
    case("scatter_elements", 18, {"x": (3, 4), "u": (2, 2)}, {"i": array([[0, 3], [-2, 1]])},
         [node("ScatterElements", ["x", "i", "u"], ["y"], axis=1)])
    case("tensor_scatter", 24, {"c": (2, 2, 8, 4), "u": (2, 2, 2, 4)}, {"i": array([3, 5])}, [node("TensorScatter", ["c", "u", "i"], ["y"], axis=-2)])


def models():
    ml = {"domains": ("ai.onnx.ml",)}
    case("linear_classifier", 21, {"x": (5, 4)}, {},
         [node("LinearClassifier", ["x"], ["l", "p"], domain="ai.onnx.ml", classlabels_ints=[3, 5, 9], coefficients=floats(12).tolist(),
               intercepts=floats(3).tolist(), multi_class=1, post_transform="SOFTMAX")], ("l", "p"), **ml)
    case("linear_regressor", 21, {"x": (5, 4)}, {},
         [node("Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=floats(4).tolist(), scale=floats(4).tolist()),
          node("LinearRegressor", ["s"], ["r"], domain="ai.onnx.ml", coefficients=floats(8).tolist(), intercepts=floats(2).tolist(), targets=2),
          node("Normalizer", ["r"], ["y"], domain="ai.onnx.ml", norm="L2")], **ml)


def volumes():
    shape = {"x": (2, 3, 5, 6, 4)}
    for op, name, extra in (("MaxPool", "max_pool_volume", {"pads": [1, 0, 1, 0, 1, 1]}),
                            ("MaxPool", "max_pool_volume_ceil", {"ceil_mode": 1}),
                            ("AveragePool", "average_pool_volume", {"pads": [1, 0, 1, 0, 1, 1]}),
                            ("AveragePool", "average_pool_volume_padding_counts", {"auto_pad": "SAME_UPPER", "count_include_pad": 1})):
        case(name, 22, shape, {}, [node(op, ["x"], ["y"], kernel_shape=[3, 2, 2], strides=[2, 1, 3], **extra)])


def sequences():
    """Positions are constants, or computed from shapes."""
    at = {str(i): numpy.int64(i) for i in (-2, -1, 0, 1, 2)}
    case("sequence_insert", 17, {"x": (2, 3), "z": (2, 2)}, at, [
        node("SequenceEmpty", [], ["none"]), node("SequenceInsert", ["none", "x"], ["one"]),
        node("SequenceInsert", ["one", "z", "0"], ["two"]), node("SequenceInsert", ["two", "x", "-1"], ["three"]),
        node("SequenceInsert", ["three", "z"], ["four"]), node("ConcatFromSequence", ["four"], ["y"], axis=-1)])
    case("sequence_erase", 17, {"x": (2, 3), "z": (2, 3)}, at, [
        node("Add", ["x", "z"], ["s"]), node("SequenceConstruct", ["x", "z", "s"], ["all"]),
        node("SequenceErase", ["all", "-2"], ["two"]), node("SequenceErase", ["two"], ["left"]),
        node("SequenceLength", ["left"], ["n"]), node("SequenceAt", ["all", "2"], ["last"]),
        node("ConcatFromSequence", ["all"], ["y"], axis=-1, new_axis=1)], ("y", "last", "n"))
    case("sequence_split", 17, {"x": (2, 6)}, {**at, "four": numpy.int64(4), "sizes": array([1, 3, 2])}, [
        node("SplitToSequence", ["x", "four"], ["cut"], axis=1), node("SequenceAt", ["cut", "-1"], ["short"]),
        node("SplitToSequence", ["x", "sizes"], ["sized"], axis=-1, keepdims=0), node("SequenceAt", ["sized", "1"], ["long"]),
        node("SplitToSequence", ["x"], ["rows"], keepdims=0), node("SequenceAt", ["rows", "1"], ["row"]),
        node("SplitToSequence", ["x"], ["kept"]), node("SequenceAt", ["kept", "0"], ["first"])], ("short", "long", "row", "first"))
    body = helper.make_graph(
        [node("Identity", ["go"], ["goes"]), node("Mul", ["h", "h"], ["square"]), node("SequenceInsert", ["before", "square"], ["after"])],
        "body", [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("h", TensorProto.FLOAT, [4]),
                 helper.make_tensor_sequence_value_info("before", TensorProto.FLOAT, None)],
        [info("goes", TensorProto.BOOL, []), info("square", TensorProto.FLOAT, [4]),
         helper.make_tensor_sequence_value_info("after", TensorProto.FLOAT, None)])
    case("sequence_loop", 17, {"x": (4,)}, {"n": numpy.int64(3), "t": numpy.array(True)}, [
        node("SequenceEmpty", [], ["none"]), node("Loop", ["n", "t", "x", "none"], ["h", "all"], body=body),
        node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1)])
    sides = [helper.make_graph([node("SequenceConstruct", names, [name])], name, [],
                               [helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)])
             for name, names in (("yes", ["x", "z"]), ("no", ["z", "x"]))]
    case("sequence_if", 17, {"x": (3,), "z": (3,)}, {"zero": numpy.float32(0)}, [
        node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["c"]),
        node("If", ["c"], ["both"], then_branch=sides[0], else_branch=sides[1]), node("ConcatFromSequence", ["both"], ["y"], axis=0)])
    each = helper.make_graph([node("Mul", ["e", "k"], ["m"])], "each", [info("e", TensorProto.FLOAT, None), info("k", TensorProto.FLOAT, [])],
                             [info("m", TensorProto.FLOAT, None)])
    case("sequence_map", 17, {"x": (2, 3), "z": (2, 2)}, {"k": numpy.float32(3)}, [
        node("SequenceConstruct", ["x", "z"], ["both"]), node("SequenceMap", ["both", "k"], ["made"], body=each),
        node("ConcatFromSequence", ["made"], ["y"], axis=1)])


def means():
    """Windows of means that reach beyond what pads a tensor, and with gaps."""
    volume, image, line = (1, 2, 7, 6, 5), (2, 3, 8, 7), (1, 2, 11)
    for name, shape, attrs in (
            ("volume_ceil", volume, {"kernel_shape": [3, 2, 2], "strides": [2, 3, 2], "ceil_mode": 1}),
            ("volume_ceil_counts", volume, {"kernel_shape": [3, 3, 2], "strides": [3, 2, 2], "ceil_mode": 1, "pads": [1, 1, 0, 0, 1, 1], "count_include_pad": 1}),
            ("volume_dilated", volume, {"kernel_shape": [2, 2, 3], "dilations": [3, 2, 2]}),
            ("volume_dilated_padded", volume, {"kernel_shape": [2, 3, 2], "dilations": [2, 2, 1], "strides": [1, 2, 2], "pads": [1, 2, 1, 1, 1, 0]}),
            ("volume_dilated_counts", volume, {"kernel_shape": [2, 3, 2], "dilations": [2, 2, 1], "strides": [2, 2, 2], "pads": [1, 2, 1, 1, 1, 0],
                                               "ceil_mode": 1, "count_include_pad": 1}),
            ("image_dilated", image, {"kernel_shape": [3, 2], "dilations": [2, 3], "strides": [2, 1], "pads": [1, 1, 2, 1], "ceil_mode": 1}),
            ("line_ceil", line, {"kernel_shape": [4], "strides": [3], "pads": [1, 1], "ceil_mode": 1})):
        case(f"average_pool_{name}", 19, {"x": shape}, {}, [node("AveragePool", ["x"], ["y"], **attrs)])


def batches():
    """The batch first (layout 1): onnxruntime runs the same layer with the steps first, and turns what goes in and out."""
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        weights = {"w": floats(2, gates * 6, 4) / 2, "r": floats(2, gates * 6, 6) / 2, "b": floats(2, 2 * gates * 6), "h": floats(3, 2, 6)}
        outputs, turned, names = ["y", "yh"], ["x", "h"], ["x", "w", "r", "b", "", "h"]
        if op == "LSTM":
            weights["c"] = floats(3, 2, 6)
            outputs, turned, names = [*outputs, "yc"], [*turned, "c"], [*names, "c"]
        layer = {"hidden_size": 6, "direction": "bidirectional"}
        recorded = [*(node("Transpose", [each], [each + "_turned"], perm=[1, 0, 2]) for each in turned),
                    node(op, [each + "_turned" if each in turned else each for each in names], [each + "_turned" for each in outputs], **layer),
                    *(node("Transpose", [each + "_turned"], [each], perm=[2, 0, 1, 3] if each == "y" else [1, 0, 2]) for each in outputs)]
        case(f"{op.lower()}_batch_first", 14, {"x": (3, 5, 4)}, weights, [node(op, names, outputs, layout=1, **layer)], outputs,
             recorded=recorded)


def spread(name):
    return [node("Sub", [name + "_fed", "spread_half"], [name + "_around"]), node("Mul", [name + "_around", "spread_four"], [name])]


def model_of(name, nodes, weights, outputs):
    opset, inputs, _, _, _, functions, domains, _ = CASES[name]
    fed = [info(each + "_fed", TensorProto.FLOAT, shape) for each, shape in inputs.items()]
    around = {"spread_half": numpy.float32(0.5), "spread_four": numpy.float32(4)}
    graph = helper.make_graph([*sum((spread(each) for each in inputs), []), *nodes], name, fed, outputs,
                              [initializer(*each) for each in [*around.items(), *weights.items()]])
    versions = [helper.make_opsetid("", opset), *(helper.make_opsetid(each, {"ai.onnx.ml": 3}.get(each, 1)) for each in domains)]
    return helper.make_model(graph, opset_imports=versions, ir_version=11, functions=functions)


def expected(name):
    _, inputs, weights, _, outputs, _, _, nodes = CASES[name]
    model = model_of(name, nodes, weights, [onnx.ValueInfoProto(name=each) for each in outputs])
    made = {each + "_fed": feeds.uniform(0, 0, 0, numpy.arange(numpy.prod(shape))).astype(numpy.float32).reshape(shape)
            for each, shape in inputs.items()}
    options = onnxruntime.SessionOptions()
    # What is fused may be quantized on the way.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(outputs, session.run(list(outputs), made)))


def with_error(name, results):
    _, _, weights, nodes, outputs, _, _, _ = CASES[name]
    tail, errors, recorded = [], [], dict(weights)
    for output in outputs:
        recorded[output + "_recorded"] = results[output].astype(numpy.float32)
        tail += [node("Cast", [output], [output + "_float"], to=TensorProto.FLOAT),
                 node("Sub", [output + "_float", output + "_recorded"], [output + "_off"]),
                 node("Abs", [output + "_off"], [output + "_distance"]),
                 node("ReduceMax", [output + "_distance"], [output + "_error"], keepdims=0)]
        errors.append(output + "_error")
    tail.append(node("Max", errors, ["error"]))
    return model_of(name, [*nodes, *tail], recorded, [info("error", TensorProto.FLOAT, [])])


def write_names(folder):
    folder.mkdir(exist_ok=True)
    for name, fed, made, op, kind, shape in (("colons", "input_1:0", "Identity:0", "Relu", TensorProto.FLOAT, ["unk__6", 2]),
                                             ("halves", "x", "y", "Add", TensorProto.FLOAT16, [2])):
        inputs = [fed] if op == "Relu" else [fed, fed]
        graph = helper.make_graph([node(op, inputs, [made])], name, [info(fed, kind, shape)], [info(made, kind, shape)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), folder / f"{name}.onnx")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for family in (elements, norms, attention, convolutions, resizing, recurrent, control, quantized, indices, models, volumes, batches, sequences, means):
        family()
    for name in CASES:
        try:
            results = expected(name)
        except Exception as error:  # an op that this version of onnxruntime lacks
            print(f"{name}: not recorded: {str(error).splitlines()[0][:200]}")
            continue
        onnx.save(with_error(name, results), folder / f"{name}.onnx")
        print(name, {each: value.shape for each, value in results.items()})
    write_names(folder.parent / "onnx_names")


if __name__ == "__main__":
    main()
