# SPDX-License-Identifier: Apache-2.0
"""Nodes of a captured graph, of PyTorch's or of a program's that is read without it: what both have."""

MARK = "nn_module_stack"  # a field of nodes that every tracer of PyTorch copies


def is_node(leaf):
    return hasattr(leaf, "all_input_nodes")


def mapped(function, tree):
    """`tree` with what `function` makes of its leaves: of all that is no list, tuple or dictionary."""
    if isinstance(tree, (list, tuple)):
        return [mapped(function, each) for each in tree] if isinstance(tree, list) else tuple(mapped(function, each) for each in tree)
    if isinstance(tree, dict):
        return {key: mapped(function, each) for key, each in tree.items()}
    return function(tree)


def module_path(node):
    stack = node.meta.get(MARK) or {}
    return next(iter(stack.values()))[0] if stack else ""


def call_number(node):
    """Which of Captured.calls the node comes from; -1: none."""
    stack = node.meta.get(MARK) or {}
    number = next(iter(stack.values()))[1] if stack else ""
    return int(number) if number else -1
