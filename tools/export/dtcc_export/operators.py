# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of the ONNX domain `dtcc`, in PyTorch and in ONNX: what ONNX cannot say of gradients.

    StopGradient(x)               x, a constant to the gradient
    ReplaceGradient(value, path)  value, with the gradient of path

In the traced program they are calls of torch.ops.dtcc.*, in the file nodes of the domain with a function that is the
identity of operand 0: other runtimes inline it.
"""
import onnx
import onnx_ir as ir
import onnxscript
import torch
from onnxscript.onnx_opset import opset18 as op

DOMAIN = "dtcc"
OPERATORS = {"StopGradient": ("x",), "ReplaceGradient": ("value", "path")}


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

STOP = torch.ops.dtcc.stop_gradient.default
REPLACE = torch.ops.dtcc.replace_gradient.default
COTANGENT = torch.ops.dtcc.cotangent.default
PULLED_BACK = torch.ops.dtcc.pulled_back.default


def schema(name, operands):
    of, floats = onnx.defs.OpSchema.FormalParameter, ["tensor(float)", "tensor(double)", "tensor(float16)",
                                                      "tensor(bfloat16)"]
    return onnx.defs.OpSchema(name, DOMAIN, 1, inputs=[of(o, "T") for o in operands], outputs=[of("y", "T")],
                              type_constraints=[("T", floats, "floats")])


_opset = onnxscript.values.Opset(DOMAIN, 1)
_stop, _replace = (onnxscript.values.Op(_opset, name, schema(name, of)) for name, of in OPERATORS.items())



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


# Translations for torch.onnx.export: operator -> function that emits its node.
TRANSLATIONS = {STOP: lambda x: _stop(x), REPLACE: lambda value, path: _replace(value, path),
                torch.ops.aten.nll_loss_nd.default: nll_loss,
                torch.ops.aten.rnn_tanh.input: rnn("Tanh"), torch.ops.aten.rnn_relu.input: rnn("Relu")}


def define(model):
    """Adds the functions of the operators that the graph uses."""
    used = {node.op_type for node in model.graph if node.domain == DOMAIN}
    for name in sorted(used):
        inputs = [ir.Value(name=operand) for operand in OPERATORS[name]]
        identity = ir.node("Identity", [inputs[0]])
        identity.outputs[0].name = "y"
        body = ir.Graph(inputs, identity.outputs, nodes=[identity], opset_imports={"": model.opset_imports[""]})
        function = ir.Function(DOMAIN, name, "", graph=body, attributes=[])
        model.functions[function.identifier()] = function
    if used:
        model.opset_imports[DOMAIN] = 1
