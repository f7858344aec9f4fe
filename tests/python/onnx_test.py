# SPDX-License-Identifier: Apache-2.0
"""ONNX models compute here, run by the program LANESCOPE, what onnxruntime or ONNX's own test data says."""

import json
import os
import re
import subprocess
import warnings

import numpy
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import numpy_helper  # noqa: E402

DTYPES = (numpy.float16, numpy.float32, numpy.float64, numpy.int8, numpy.int16, numpy.int32, numpy.int64, numpy.uint8, numpy.uint16,
          numpy.bool_)
# Ops with rules, by the names of ONNX's tests of single nodes.
OPS = ("abs add and argmax argmin averagepool_2d basic_conv batchnorm bernoulli cast ceil clip concat constant constantofshape "
       "conv_with cos cumsum depthtospace div dropout_default elu equal erf exp expand flatten floor gather gathernd gelu gemm "
       "globalaveragepool globalmaxpool greater hardsigmoid hardswish identity isnan layer_normalization leakyrelu less log "
       "logsoftmax matmul max maxpool_2d mean min mul neg not onehot or pow prelu reciprocal reduce relu reshape round "
       "shape sigmoid sign sin size slice softmax softplus softsign split sqrt squeeze sub sum tan tanh tile transpose "
       "tril triu unsqueeze where xor acosh ai_onnx_ml asinh atanh attention averagepool bitwise celu convtranspose "
       "dequantizelinear dynamicquantizelinear gather_elements group_normalization gru if instancenorm loop lpnormalization lstm "
       "matmulinteger maxpool mish mvn quantizelinear resize rms_normalization rnn rotary_embedding scan scatter_elements scatternd "
       "selu shrink simple_rnn swish tensorscatter thresholdedrelu top_k upsample").split()
# Where onnxruntime, which is followed here, differs: corners are those of the sizes that are made, not of the scales.
OTHERWISE = ("resize_downsample_scales_cubic_align_corners", "resize_downsample_scales_linear_align_corners")


def run(path, feeds, folder):
    """The outputs of one step, in the model's order, or None and why there are none."""
    args = [os.environ["LANESCOPE"], "run", str(path), "--steps", "1", "--warmup", "0", "--save-fetches",
            str(folder / "made"), "--json"]
    (folder / "feeds").mkdir()
    for number, (name, value) in enumerate(feeds.items()):
        numpy.save(folder / f"feeds/{number}.npy", value)
        args += ["--feed", f"{name}={folder}/feeds/{number}.npy"]
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr
    names = [re.sub("[^A-Za-z0-9_.-]", "_", fetch["name"]) for fetch in json.loads(done.stdout)["fetches"]]
    return [numpy.load(folder / f"made/step000000_{name}.npy") for name in names], ""


def cases_of_nodes():
    """ONNX's own tests of single nodes, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the overflows that they test
        from onnx.backend.test.case.node import collect_testcases
        cases = {case.name[5:]: case for case in collect_testcases(None)}
    return {name: case for name, case in sorted(cases.items())
            if name not in OTHERWISE and any(name == op or name.startswith(op + "_") for op in OPS) and "expanded" not in name}


CASES = cases_of_nodes()


@pytest.mark.parametrize("name", CASES)
def test_nodes_compute_what_onnx_says(name, tmp_path):
    model, (inputs, expected) = CASES[name].model, CASES[name].data_sets[0]
    if not all(isinstance(each, numpy.ndarray) and each.dtype.type in DTYPES for each in [*inputs, *expected]):
        pytest.skip("of types that no file of a feed has")
    feeds, model = with_constants(model, inputs)
    onnx.save(model, tmp_path / "model.onnx")
    made, error = run(tmp_path / "model.onnx", feeds, tmp_path)
    if made is None and ("no kernel" in error or "Unimplemented" in error):
        pytest.skip("known by its cost alone: " + error.strip()[-160:])
    assert made is not None, error
    for ours, theirs in zip(made, expected):
        assert ours.shape == theirs.shape
        rough = theirs.dtype == numpy.float16
        numpy.testing.assert_allclose(ours.astype(theirs.dtype), theirs, rtol=2e-3 if rough else 1e-4, atol=2e-3 if rough else 1e-5)


def with_constants(model, inputs):
    """Axes and sizes as constants, as models have them that are exported."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept, feeds = [], {}
    for number, (info, value) in enumerate(zip(model.graph.input, inputs)):
        sizes = number > 0 or model.graph.node[0].op_type == "ConstantOfShape"
        if sizes and value.dtype == numpy.int64 and value.ndim <= 1 and value.size < 9:
            copy.graph.initializer.append(numpy_helper.from_array(value, info.name))
        else:
            kept.append(info)
            feeds[info.name] = value
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    return feeds, copy


def compare_with_onnxruntime(path, feeds, folder, tolerance):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    expected = session.run(None, feeds)
    made, error = run(path, feeds, folder)
    assert made is not None, error
    assert len(made) == len(expected)
    for ours, theirs in zip(made, expected):
        assert ours.shape == theirs.shape
        scale = max(1.0, float(numpy.abs(theirs).max()))
        assert float(numpy.abs(ours - theirs).max()) < tolerance * scale


def export(model, inputs, path, opset, dynamo, names):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    model.eval()
    torch.onnx.export(model, inputs, str(path), input_names=names, opset_version=opset, dynamo=dynamo)


@pytest.mark.parametrize(("opset", "dynamo"), [(13, False), (17, False), (18, True), (21, True)])
def test_resnet50(opset, dynamo, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    models = pytest.importorskip("torchvision.models", reason="torchvision is not installed")
    torch.manual_seed(0)
    images = torch.randn(1, 3, 96, 96)
    export(models.resnet50(), (images,), tmp_path / "model.onnx", opset, dynamo, ["images"])
    compare_with_onnxruntime(tmp_path / "model.onnx", {"images": images.numpy()}, tmp_path, 1e-4)


@pytest.mark.parametrize(("opset", "dynamo"), [(14, False), (20, True)])
def test_bert(opset, dynamo, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=500, num_hidden_layers=3, hidden_size=96, num_attention_heads=4,
                                     intermediate_size=192, attn_implementation="eager")

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = transformers.BertModel(config)

        def forward(self, ids, mask):
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    ids, mask = torch.randint(0, 500, (2, 20)), torch.ones(2, 20, dtype=torch.int64)
    mask[0, 15:] = 0
    export(Encoder(), (ids, mask), tmp_path / "model.onnx", opset, dynamo, ["ids", "mask"])
    compare_with_onnxruntime(tmp_path / "model.onnx", {"ids": ids.numpy(), "mask": mask.numpy()}, tmp_path, 1e-4)


@pytest.mark.parametrize(("opset", "dynamo"), [(18, True), (21, True)])
def test_gpt2(opset, dynamo, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=500, n_layer=3, n_embd=96, n_head=4, attn_implementation="eager", use_cache=False)

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gpt = transformers.GPT2LMHeadModel(config)

        def forward(self, ids):
            return self.gpt(input_ids=ids, use_cache=False).logits

    ids = torch.randint(0, 500, (2, 20))
    export(Decoder(), (ids,), tmp_path / "model.onnx", opset, dynamo, ["ids"])
    compare_with_onnxruntime(tmp_path / "model.onnx", {"ids": ids.numpy()}, tmp_path, 1e-4)
