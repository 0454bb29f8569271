# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module that is traced: the user's module followed by its loss."""
import functools
import inspect
from collections.abc import Mapping

import torch
import torch.nn.functional as F


class ExportError(ValueError):
    """Something the exported file could not say faithfully, or a wrong argument."""


class RowsOfData(ExportError):
    """What is refused unless the rows that a mask picks are traced as all rows (picked.py)."""


class ExportWarning(UserWarning):
    """Something that the file says otherwise than one may expect."""


def cross_entropy(logits, labels, ignore_index=-100, label_smoothing=0.0, shift=0):
    """Mean cross entropy over the labels that are not ignore_index; classes are the last dimension of logits.

    With shift=1, position t is scored against the label of position t+1 (causal language models); the last position
    is ignored. The labels move and the logits stay whole: an odd length would not split over devices.
    """
    if shift:
        labels = F.pad(labels, (0, 1), value=int(ignore_index))[..., 1:]
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), ignore_index=int(ignore_index),
                           label_smoothing=float(label_smoothing))


# kind -> (function of the output and the target, what the second argument is called by default)
KINDS = {
    "cross_entropy": (cross_entropy, "labels"),
    "causal_lm": (lambda logits, labels, **options: cross_entropy(logits, labels, shift=1, **options), "labels"),
    "mse": (lambda prediction, target: F.mse_loss(prediction, target), "target"),
    "l1": (lambda prediction, target: F.l1_loss(prediction, target), "target"),
    "bce": (lambda prediction, target: F.binary_cross_entropy_with_logits(prediction, target), "target"),
}


def parse(text):
    """"kind:key=value,..." -> (kind, {key: value}), as in dtcc's own --loss."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise ExportError(f"unknown loss '{kind}'; known: {', '.join(KINDS)}, or a callable")
    options = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise ExportError(f"loss option '{item}' must be key=value")
        options[key] = value
    return kind, options


def main_output(output):
    """The tensor a loss is computed from: the output itself, its .logits, or its first element."""
    if isinstance(output, torch.Tensor):
        return output
    for name in ("logits", "prediction_logits", "last_hidden_state"):
        if getattr(output, name, None) is not None:
            return getattr(output, name)
    if isinstance(output, (tuple, list)):
        return output[0]
    raise ExportError(f"the module returns {type(output).__name__}; give loss= as a callable that takes it")


def is_scalar(value):
    return isinstance(value, torch.Tensor) and value.dim() == 0 and value.is_floating_point()


def parts_of(output):
    """What a module returns, by how Python reaches it: "['loss']", "[0]" or ".loss"."""
    if isinstance(output, Mapping):
        return {f"[{key!r}]": value for key, value in output.items()}
    if isinstance(output, (tuple, list)):
        return {f"[{place}]": value for place, value in enumerate(output)}
    return {f".{name}": value for name, value in getattr(output, "__dict__", {}).items()}


def own_loss(output):
    """The loss of a module that computes it itself: a scalar, .loss or ["loss"] of what it returns, or the only scalar in what
    it returns, if that has no part named loss."""
    if isinstance(output, torch.Tensor):
        candidates = {"": output}
    elif hasattr(output, "loss"):
        candidates = {".loss": output.loss}
    else:
        parts = parts_of(output)
        candidates = {"['loss']": parts["['loss']"]} if "['loss']" in parts else parts
    scalars = [part for part, value in candidates.items() if is_scalar(value)]
    if len(scalars) == 1:
        return candidates[scalars[0]]
    if scalars:
        raise ExportError(f"the module returns {len(scalars)} scalars: {', '.join(f'output{part}' for part in scalars)}; name the "
                          f"loss, for example loss=lambda output: output{scalars[0]}")
    raise ExportError("the module returns no scalar and nothing with a scalar .loss; "
                      "give the loss, for example loss='cross_entropy', or the labels among the inputs")


def arguments_of(loss, input_names):
    """The example inputs that a callable takes behind the output."""
    parameters = list(inspect.signature(getattr(loss, "forward", loss)).parameters.values())[1:]
    for each in parameters:
        is_needed = each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        if is_needed and each.name not in input_names:
            raise ExportError(f"the loss takes '{each.name}', which is no example input, got: {', '.join(input_names)}; name it "
                              "as one of these, for example loss=lambda output, labels: function(output, labels)")
    return [each.name for each in parameters if each.name in input_names]


def plan_loss(loss, input_names):
    """Decides what the traced module computes.

    Returns (function of (output, targets by name), names of the inputs that are targets, description for the manifest).
    """
    if loss is None:
        targets = [n for n in input_names if n in ("labels", "label", "target", "targets")]
        return (lambda output, **_: own_loss(output)), [], targets, {"kind": "module"}
    if loss is False:
        return (lambda output, **_: main_output(output)), [], [], {"kind": "none"}
    if isinstance(loss, str):
        kind, options = parse(loss)
        function, default = KINDS[kind]
        target = options.pop("labels", options.pop("target", default))
        if target not in input_names:
            raise ExportError(f"loss '{kind}' needs an example input named '{target}', got: {', '.join(input_names)}")
        numbers = {k: float(v) if "." in v else int(v) for k, v in options.items()}
        described = {"kind": "cross_entropy" if kind == "causal_lm" else kind, **numbers}
        if kind == "causal_lm":
            described["shift"] = 1
        return (lambda output, **t: function(main_output(output), t[target], **numbers)), [target], [target], described
    names = arguments_of(loss, input_names)
    return (lambda output, **t: loss(output, **t)), names, names, {"kind": "custom"}


def check_arguments(parameters, needed, passed):
    """Raises ExportError unless forward, which has the parameters, takes what is passed and nothing else that it needs."""
    if unknown := [n for n in passed if n not in parameters]:
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            raise ExportError(f"forward has no argument '{unknown[0]}', and no loss takes it, got arguments: {', '.join(parameters)}; "
                              "name the example inputs after the arguments of forward and of the loss")
    if missing := [n for n in parameters if n in needed and n not in passed]:
        raise ExportError(f"forward needs '{missing[0]}', which is no example input, got: {', '.join(passed)}")


def modules_in(loss):
    """The modules that a callable loss is, is a part of, or names."""
    while isinstance(loss, functools.partial):
        loss = loss.func
    named = [loss, getattr(loss, "__self__", None)]
    if inspect.isfunction(loss):
        variables = inspect.getclosurevars(loss)
        named += [*variables.nonlocals.values(), *variables.globals.values()]
    return [each for each in named if isinstance(each, torch.nn.Module)]


def check_loss_trains_nothing(module, loss):
    """Raises ExportError if the loss has parameters of its own: the file holds the module's alone."""
    known = {id(p) for p in module.parameters()}
    own = [name for each in modules_in(loss) for name, p in each.named_parameters() if p.requires_grad and id(p) not in known]
    if own:
        raise ExportError(f"the loss has parameters of its own ('{own[0]}'), which would not train: export a module that holds the model "
                          "and the loss and returns the loss, or set requires_grad=False")


def with_loss(module, input_names, loss):
    """A module whose forward takes the inputs by name and returns the loss.

    Returns (wrapper, names of inputs that are targets, description). The wrapper's forward is written out because the
    exporter names the graph's inputs after its signature.
    """
    function, consumed, targets, described = plan_loss(loss, input_names)
    parameters = inspect.signature(module.forward).parameters
    needed = {n for n, p in parameters.items() if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    passed = [n for n in input_names if n not in consumed or n in needed]
    check_arguments(parameters, needed, passed)
    signature = ", ".join(input_names)
    source = (f"def forward(self, {signature}):\n"
              f"    output = self.model({', '.join(f'{n}={n}' for n in passed)})\n"
              f"    return self.loss_of(output, {', '.join(f'{n}={n}' for n in consumed)})\n")
    scope = {}
    exec(source, scope)  # noqa: S102 - input_names are identifiers, checked by the caller
    wrapper = type("WithLoss", (torch.nn.Module,), {"forward": scope["forward"]})()
    wrapper.model, wrapper.loss_of = module, function
    return wrapper, targets, described
