#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TensorFlow 2.21.0 (CPU) with Keras 3.15.1, tf.saved_model.save of a Keras model.
#
# The file of variables knows them by the path of Python objects ("_layers/1/bias"), the graph by the layer ("sequential/dense/bias"),
# and the graph has no node that restores them. So TensorFlow's own loader of graphs (compat.v1.saved_model.load) gives a session
# whose variables have no value and which has none to initialize; the serving signature fails at the first run.
# tf.saved_model.load, which walks the objects, restores them.
#
# Seen:
#   tf.saved_model.load: a result of shape [1, 3]
#   v1: FailedPreconditionError: Could not find variable sequential/dense/kernel; global variables: []
#   names in the checkpoint: ['_layers/1/_kernel', '_layers/1/bias']
#
# Led to: variables without a restoring node are found by the names of the checkpoint's objects (docs/reference/cli.md,
# tests/exec/saved_model_test.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" tensorflow-cpu==2.21.0 keras==3.15.1 numpy==2.4.6
PYTHONPATH="$scratch/packages" TF_CPP_MIN_LOG_LEVEL=3 python3 - "$scratch/model" <<'END'
import sys
import keras
import numpy
import tensorflow

v1, folder, ending = tensorflow.compat.v1, sys.argv[1], "/.ATTRIBUTES/VARIABLE_VALUE"
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, name="dense")], name="sequential")
tensorflow.saved_model.save(model, folder)
result = tensorflow.saved_model.load(folder).signatures["serving_default"](tensorflow.ones((1, 4)))
print(f"tf.saved_model.load: a result of shape {result['output_0'].shape.as_list()}")
assert numpy.allclose(result["output_0"], model(numpy.ones((1, 4))))

with tensorflow.Graph().as_default(), v1.Session() as session:
    signature = v1.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
    (fed,), (fetched,) = signature.inputs.values(), signature.outputs.values()
    try:
        session.run(fetched.name, {fed.name: numpy.ones((1, 4))})
        raise SystemExit("the loader of graphs restores variables of Keras 3 now")
    except tensorflow.errors.FailedPreconditionError as error:
        said = next(line for line in str(error).splitlines() if "Could not find variable" in line)
    variables = v1.global_variables()
print(f"v1: FailedPreconditionError: {said.split('.')[0]}; global variables: {variables}")
names = [name.removesuffix(ending) for name, _ in tensorflow.train.list_variables(f"{folder}/variables/variables") if ending in name]
print(f"names in the checkpoint: {names}")
assert variables == [] and "sequential/dense/" in said and all(name.startswith("_layers/1/") for name in names)
END
