# SPDX-License-Identifier: Apache-2.0
"""Models that no graph can hold end in one line that names module, line, what is wrong and what to do, and nothing else is printed."""

import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import export  # noqa: E402

functional = torch.nn.functional
X = torch.ones(8, 4)


class Model(torch.nn.Module):
    """`function` is called with the model and its inputs."""

    def __init__(self, function):
        super().__init__()
        self.function, self.linear = function, torch.nn.Linear(4, 4)

    def forward(self, *x):
        return self.function(self, *x)


def mean_square(y):
    return y.square().mean()


def refused(function, loss=mean_square, trains=True, **options):
    model = Model(function)
    with pytest.raises(ValueError) as problem:
        export(model, X, torch.optim.SGD(model.parameters(), 0.1) if trains else None, loss, **options)
    return str(problem.value)


def branch(model, x):
    return model.linear(x) if x.sum() > 0 else x


def loop(model, x):
    while x.norm() > 1:
        x = model.linear(x) * 0.5
    return x


def fixed_batch(model, x):
    assert x.shape[0] == 8, "eight rows"
    return model.linear(x)


def changed_in_place(model, x):
    y = model.linear(x).exp()
    return y.mul_(2) * y.sigmoid_()


def fail_in_lines(model, x):
    raise KeyError("first\nsecond\nthird")


AT_LINE = r" \(torch_refusals_test\.py:\d+\): "
BY_VALUES = {
    "item": (lambda m, x: m.linear(x) * x.sum().item(), "'item'.*keep it a tensor"),
    "float": (lambda m, x: m.linear(x) * float(x.mean()), "'__float__'.*keep it a tensor"),
    "range": (lambda m, x: m.linear(x)[:, : int(x.sum())], "'__int__'.*keep it a tensor"),
    "branch": (branch, "'__bool__'.*torch.where"),
    "loop": (loop, "'__bool__'.*torch.where"),
    "mask": (lambda m, x: m.linear(x)[x > 0], "'__getitem__'.*mask"),
    "nonzero": (lambda m, x: m.linear(x)[x[:, 0].nonzero()[:, 0]], "'nonzero'.*mask"),
    "unique": (lambda m, x: torch.unique(m.linear(x)), "'unique'.*fixed length"),
    "one_hot": (lambda m, x: functional.one_hot(x.long()) * m.linear(x), "'one_hot'.*give num_classes"),
    "repeats": (lambda m, x: m.linear(x).repeat_interleave(x[:, 0].long(), 0), "'repeat_interleave'.*give output_size"),
    "numpy": (lambda m, x: m.linear(x) * float(x.numpy().mean()), "a trace has no values"),
    "format": (lambda m, x: (f"{x.mean():.2f}", m.linear(x))[1], "a trace has no values"),
}
OTHERS = {
    "shapes": (lambda m, x: m.linear(x) @ torch.ones(5, 2), "the model" + AT_LINE + ".*got .8, 4. X .5, 2.*; see whether"),
    "shapes of a module": (lambda m, x: m.linear(x[:, :3]), "module 'linear'" + AT_LINE),
    "types": (lambda m, x: m.linear(x.long()), "aten::addmm of module 'linear'" + AT_LINE + "a product of int64 and float32"),
    "attribute": (lambda m, x: m.nothing(x), "the model" + AT_LINE + "AttributeError: .*'nothing'"),
    "in place": (changed_in_place, "^the gradient of the model: .*without in-place functions"),
    "several lines": (fail_in_lines, "the model" + AT_LINE + "KeyError: "),
    "no gradient": (lambda m, x: m.linear(x).detach(), "^the loss: it depends on no parameter"),
    "no tensor": (lambda m, x: "text", "^the loss.*'str' object has no attribute"),
}


def check(message, said, capfd):
    assert re.search(said, message), message
    assert "\n" not in message and len(message) < 600
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", BY_VALUES)
def test_what_depends_on_values_is_told_with_its_line_and_what_to_do(name, capfd):
    function, said = BY_VALUES[name]
    check(refused(function), "^the model" + AT_LINE + ".*" + said, capfd)


@pytest.mark.parametrize("name", OTHERS)
def test_what_fails_is_told_in_one_line(name, capfd):
    function, said = OTHERS[name]
    check(refused(function), said, capfd)


def test_a_loss_that_is_none_is_told(capfd):
    check(refused(lambda m, x: m.linear(x), lambda y: y.square()), r"^the loss: .*scalar.* \(8, 4\); take its mean", capfd)
    check(refused(lambda m, x: m.linear(x), None), r"^the model: .*scalar.*; give loss", capfd)
    check(refused(lambda m, x: m.linear(x), lambda y: 3.0), "^the loss: it is a float; return a tensor", capfd)
    check(refused(lambda m, x: None, None), "^the model: it returns no tensor", capfd)
    check(refused(lambda m, x: None, None, trains=False), "^the model: it returns no tensor", capfd)
    check(refused(lambda m, x: m.linear(x), before_update=lambda ps: ps[0].grad.norm().item()), "^before_update.*'item'", capfd)


HALVES = [lambda m, x: (lambda y: y[:4] * y[4:])(m.linear(x)), lambda m, x: m.linear(x).view(8, 2, 2), lambda m, x: m.linear(x) + torch.zeros(8, 4),
          fixed_batch]


@pytest.mark.parametrize("function", HALVES, ids=["halves", "view", "constant", "assert"])
def test_what_fixes_the_batch_is_noted_or_refused_in_one_line(function, capfd):
    """Law: by default the graph is of the example's batch, with a note; an axis that is asked for is refused."""
    with pytest.warns(UserWarning, match="of a batch of 8 alone") as warned:
        exported = export(Model(function), X)
    assert [note for note in exported.notes if "\n" in note] == [] and len(warned) == 1
    check(refused(function, batch_axis=0), "of a batch of 8 alone: the model" + AT_LINE + "with one of 24: ", capfd)


def test_arguments_of_another_kind_are_told():
    with pytest.raises(TypeError, match="the model is a function; give a module"):
        export(lambda x: x, X)
    with pytest.raises(TypeError, match="example_inputs is a int; give a tensor"):
        export(torch.nn.Linear(4, 4), 3)
    with pytest.raises(TypeError, match="example_inputs is a ndarray; give a tensor"):
        export(torch.nn.Linear(4, 4), X.numpy())
    with pytest.raises(TypeError, match="example_inputs is a dictionary; give .* example_kwargs"):
        export(torch.nn.Linear(4, 4), {"input": X})
    with pytest.raises(TypeError, match="optimizer is none of torch.optim; give one"):
        export(torch.nn.Linear(4, 4), X, torch.optim.SGD, mean_square)
    with pytest.raises(ValueError, match="^the optimizer: it has none of the model's parameters; make it of"):
        export(torch.nn.Linear(4, 4), X, torch.optim.SGD(torch.nn.Linear(4, 4).parameters(), 0.1), mean_square)
    with pytest.raises(FileNotFoundError, match="there is no file 'missing.pt2'; give"):
        export("missing.pt2", X)


def test_a_label_alone_is_one():
    loss = torch.nn.functional.cross_entropy
    model, labels = torch.nn.Linear(4, 4), torch.zeros(8, dtype=torch.long)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    assert export(model, X, optimizer, loss, labels=labels).graph_def == export(model, X, optimizer, loss, labels=(labels,)).graph_def
