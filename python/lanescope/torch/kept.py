# SPDX-License-Identifier: Apache-2.0
"""Tensors beside the model that a step changes, as those of a cache: they are kept from step to step."""

import torch


def _base(node):
    """What a view of a view is one of. A constant that the model makes in its step is its own."""
    while node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and "lift" not in str(node.target):
        returns = node.target._schema.returns
        if not returns or returns[0].alias_info is None or not isinstance(node.args[0], torch.fx.Node):
            break
        node = node.args[0]
    return node


def _written(node):
    """The nodes that it writes to."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or not schema.is_mutable:
        return
    for argument, value in zip(schema.arguments, node.args):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield from (each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, torch.fx.Node))


def take_kept(graph, fake_of):
    """Tensors that are neither the model's nor inputs and that the graph changes become inputs and outputs of it, the last ones.
    Returns them. `fake_of`: makes one without content."""
    nodes = graph.graph.nodes
    changed = {id(getattr(graph, base.target)) for node in nodes for base in map(_base, _written(node)) if base.op == "get_attr"}
    kept, inputs = [], []
    last = [node for node in nodes if node.op == "placeholder"][-1]
    for node in [node for node in nodes if node.op == "get_attr"]:
        tensor = getattr(graph, node.target)
        if id(tensor) not in changed:
            continue
        place = next((place for place, each in enumerate(kept) if each is tensor), len(kept))
        if place == len(kept):
            with graph.graph.inserting_after(last):
                last = graph.graph.placeholder(f"kept_{place}")
            last.meta["val"] = fake_of(tensor)
            kept.append(tensor)
            inputs.append(last)
        node.replace_all_uses_with(inputs[place])
        graph.graph.erase_node(node)
    output = next(node for node in nodes if node.op == "output")
    output.args = ([*output.args[0], *inputs],)
    graph.recompile()
    return kept
