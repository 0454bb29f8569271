# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of the ONNX domain `dtcc`, in PyTorch and in ONNX: what ONNX cannot say of gradients and instance norms.

    StopGradient(x)               x, a constant to the gradient
    ReplaceGradient(value, path)  value, with the gradient of path
    TrackedInstanceNormalization(x, scale, bias, mean, variance)
                                  the instance norm of x, and its running statistics behind it: in evaluation form they
                                  take the place of the image's own

In the traced program they are calls of torch.ops.dtcc.* and aten.instance_norm, in the file nodes of the domain with a
function that computes the values (of the first two the identity of operand 0): other runtimes inline it.
"""
import math

import onnx
import onnx_ir as ir
import onnxscript
import torch
from onnxscript.function_libs.torch_lib.ops.core import aten_instance_norm
from onnxscript.onnx_opset import opset18 as op

DOMAIN = "dtcc"
TRACKED_INSTANCE_NORM = "TrackedInstanceNormalization"


@torch.library.custom_op("dtcc::stop_gradient", mutates_args=())
def stop_gradient(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@torch.library.custom_op("dtcc::replace_gradient", mutates_args=())
def replace_gradient(value: torch.Tensor, path: torch.Tensor) -> torch.Tensor:
    return value.clone()


# Notes of the tracing, which `resolve` (gradients.py) turns into replace_gradient.
@torch.library.custom_op("dtcc::cotangent", mutates_args=())
def cotangent(x: torch.Tensor) -> torch.Tensor:
    """Stands for the gradient of x."""
    return torch.zeros_like(x)


@torch.library.custom_op("dtcc::pulled_back", mutates_args=())
def pulled_back(value: torch.Tensor, gradient_in: torch.Tensor, operands: list[torch.Tensor],
                gradients_out: list[torch.Tensor], whose: str) -> torch.Tensor:
    """value, whose gradient gradient_in becomes gradients_out of the operands."""
    return value.clone()


for operator in (stop_gradient, replace_gradient, cotangent, pulled_back):
    operator.register_fake(lambda x, *_: torch.empty_like(x))
stop_gradient.register_autograd(lambda context, gradient: None)
replace_gradient.register_autograd(lambda context, gradient: (None, gradient))
stop_gradient.register_vmap(lambda info, dimensions, x: (stop_gradient(x), dimensions[0]))

STOP = torch.ops.dtcc.stop_gradient.default
REPLACE = torch.ops.dtcc.replace_gradient.default
COTANGENT = torch.ops.dtcc.cotangent.default
PULLED_BACK = torch.ops.dtcc.pulled_back.default


_opset = onnxscript.values.Opset(DOMAIN, 1)


@onnxscript.script(_opset)
def StopGradient(x):
    return op.Identity(x)


@onnxscript.script(_opset)
def ReplaceGradient(value, path):
    return op.Identity(value)


@onnxscript.script(_opset)
def TrackedInstanceNormalization(x, scale, bias, mean, variance, epsilon: float, momentum: float):
    y = op.InstanceNormalization(x, scale, bias, epsilon=epsilon)
    cells = op.Reshape(x, op.Constant(value_ints=[0, 0, -1]))
    own = op.ReduceMean(cells, op.Constant(value_ints=[2]))
    distance = op.Sub(cells, own)
    count = op.Sub(op.Shape(cells, start=2, end=3), op.Constant(value_ints=[1]))
    spread = op.Div(op.ReduceSum(op.Mul(distance, distance), op.Constant(value_ints=[2])), op.CastLike(count, x))
    batch = op.Constant(value_ints=[0, 2])
    kept = op.CastLike(op.Constant(value_float=momentum), x)
    moved = op.Sub(op.CastLike(op.Constant(value_float=1.0), x), kept)
    next_mean = op.Add(op.Mul(mean, kept), op.Mul(op.ReduceMean(own, batch, keepdims=0), moved))
    next_variance = op.Add(op.Mul(variance, kept), op.Mul(op.ReduceMean(spread, batch, keepdims=0), moved))
    return y, next_mean, next_variance


FUNCTIONS = {each.name: each for each in (StopGradient, ReplaceGradient, TrackedInstanceNormalization)}


def schema(function):
    """The signature of an operator: floats of one type, and attributes that are numbers."""
    of, floats = onnx.defs.OpSchema.FormalParameter, ["tensor(float)", "tensor(double)", "tensor(float16)",
                                                      "tensor(bfloat16)"]
    proto = function.to_function_proto()
    return onnx.defs.OpSchema(proto.name, DOMAIN, 1, inputs=[of(o, "T") for o in proto.input],
                              outputs=[of(o, "T") for o in proto.output], type_constraints=[("T", floats, "floats")],
                              attributes=[onnx.defs.OpSchema.Attribute(a, onnx.defs.OpSchema.AttrType.FLOAT)
                                          for a in proto.attribute])


_stop, _replace, _tracked = (onnxscript.values.Op(_opset, name, schema(f)) for name, f in FUNCTIONS.items())


def rnn(activation):
    """The nodes of torch.nn.RNN, for which the exporter has no translation: one for each layer."""
    def layers(x, start, parameters, has_biases, count, dropout, train, bidirectional, batch_first):
        directions, each = 2 if bidirectional else 1, 4 if has_biases else 2
        ends = []
        if batch_first:
            x = op.Transpose(x, perm=[1, 0, 2])
        for layer in range(count):
            of = [parameters[(layer * directions + i) * each:(layer * directions + i + 1) * each] for i in range(directions)]

            def stacked(pick):
                return op.Concat(*(op.Unsqueeze(pick(own), [0]) for own in of), axis=0)
            biases = stacked(lambda own: op.Concat(own[2], own[3], axis=0)) if has_biases else None
            x, end = op.RNN(x, stacked(lambda own: own[0]), stacked(lambda own: own[1]), biases,
                            initial_h=op.Slice(start, [layer * directions], [(layer + 1) * directions], axes=[0]),
                            activations=[activation] * directions, hidden_size=start.shape[2],
                            direction="bidirectional" if bidirectional else "forward")
            # Steps, directions, samples, cells: the directions' cells stand beside each other.
            x = op.Reshape(op.Transpose(x, perm=[0, 2, 1, 3]), [0, 0, -1])
            if layer < count - 1 and dropout > 0 and train:
                x, _ = op.Dropout(x, dropout, train)
            ends.append(end)
        return op.Transpose(x, perm=[1, 0, 2]) if batch_first else x, op.Concat(*ends, axis=0)
    return layers


def nll_loss(logs, labels, weight=None, reduction=1, ignore_index=-100):
    """The node of torch.nn.functional.nll_loss, which the exporter takes apart: a sum and its count stay together."""
    single = len(logs.shape) == 1
    if single:
        logs, labels = op.Unsqueeze(logs, [0]), op.Unsqueeze(labels, [0])
    loss = op.NegativeLogLikelihoodLoss(logs, labels, weight, reduction=("none", "mean", "sum")[reduction], ignore_index=ignore_index)
    return op.Squeeze(loss, [0]) if single and reduction == 0 else loss


def log_sigmoid(x):
    """log(sigmoid(x)) as -softplus(-x). The exporter's logarithm of a sigmoid is -inf below -88 and loses its tail above 16."""
    return op.Neg(op.Softplus(op.Neg(x)))


def log_sum(scale):
    """log(exp(scale x) + exp(scale y)) / scale as the greater operand plus a softplus of their distance. The exporter's
    logarithm of a sum of powers is -inf or inf where both operands are far from 0. A choice between the operands, unlike their
    maximum, has PyTorch's gradient where they are equal: 0.5 each. Equal infinities have the distance 0."""
    def of(x, y):
        is_first = op.GreaterOrEqual(x, y)
        greater = op.Where(is_first, x, y)
        limits = op.And(op.Equal(x, y), op.Equal(op.Abs(greater), op.CastLike(math.inf, greater)))
        distance = op.Where(limits, op.CastLike(0.0, greater), op.Sub(op.Where(is_first, y, x), greater))
        if scale == 1:
            return op.Add(greater, op.Softplus(distance))
        factor = op.CastLike(scale, greater)
        return op.Add(greater, op.Div(op.Softplus(op.Mul(distance, factor)), factor))
    return of


def instance_norm(x, weight, bias, mean, variance, use_input_stats, momentum, eps, cudnn_enabled):
    """The node of torch.nn.functional.instance_norm: the exporter leaves running statistics out, and repeats them for every
    sample where they are what normalises."""
    if mean is None or variance is None:
        return aten_instance_norm(x, weight, bias, None, None, use_input_stats, momentum, eps)
    channels = op.Shape(mean)
    weight = op.Expand(op.CastLike(1.0, x), channels) if weight is None else weight
    bias = op.Expand(op.CastLike(0.0, x), channels) if bias is None else bias
    if not use_input_stats:
        return op.BatchNormalization(x, weight, bias, mean, variance, epsilon=eps)
    return _tracked(x, weight, bias, mean, variance, epsilon=eps, momentum=1 - momentum)[0]


# Translations for torch.onnx.export: operator -> function that emits its node.
TRANSLATIONS = {STOP: lambda x: _stop(x), REPLACE: lambda value, path: _replace(value, path),
                torch.ops.aten.log_sigmoid.default: log_sigmoid, torch.ops.aten.logaddexp.default: log_sum(1),
                torch.ops.aten.logaddexp2.default: log_sum(math.log(2)),
                torch.ops.aten.nll_loss_nd.default: nll_loss, torch.ops.aten.instance_norm.default: instance_norm,
                torch.ops.aten.rnn_tanh.input: rnn("Tanh"), torch.ops.aten.rnn_relu.input: rnn("Relu")}


def define(model):
    """Adds the functions of the operators that the graph uses."""
    used = {node.op_type for node in ir.traversal.RecursiveGraphIterator(model.graph) if node.domain == DOMAIN}
    for name in sorted(used):
        function = ir.serde.deserialize_function(FUNCTIONS[name].to_function_proto())
        function.opset_imports.clear()
        function.opset_imports[""] = model.opset_imports[""]
        model.functions[function.identifier()] = function
    if used:
        model.opset_imports[DOMAIN] = 1
