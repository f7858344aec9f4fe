# SPDX-License-Identifier: Apache-2.0
"""How many numbers the inputs may hold that look something up: rows of tables, classes, positions."""

from lanescope.torch.nodes import is_node

_PASSES = ("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "expand", "permute", "transpose", "t", "clone", "slice",
           "select", "_to_copy", "alias", "cat", "constant_pad_nd", "where", "split", "getitem", "detach", "remainder", "to", "flatten", "contiguous")


def _name(node):
    return getattr(node.target, "__name__", str(node.target)).split(".")[0]


def _limit_of(user, node):
    """What the user looks up by the node's numbers has so many; None: it looks nothing up."""
    name, args = _name(user), user.args
    value = args[0].meta.get("val") if args and is_node(args[0]) else None
    shape = getattr(value, "shape", ())  # a split tensor is a list of them
    if name == "embedding" and args[1] is node:
        return shape[0]
    if name in ("nll_loss_forward", "nll_loss2d_forward") and args[1] is node:
        return shape[1 if len(shape) > 1 else 0]
    if name in ("gather", "index_select", "scatter", "scatter_add") and args[2] is node:
        return shape[args[1]]
    if name == "index" and node in args[1]:
        return shape[list(args[1]).index(node)]
    return None


def limit_of(placeholder):
    """The least of all tables that the input's numbers go to; 1 where they go to none."""
    limits, seen, waiting = [], set(), [placeholder]
    while waiting:
        node = waiting.pop()
        for user in node.users:
            limit = _limit_of(user, node)
            if limit is not None:
                limits.append(int(limit))
            elif _name(user) in _PASSES and user not in seen:
                seen.add(user)
                waiting.append(user)
    return max(1, min(limits, default=1))
