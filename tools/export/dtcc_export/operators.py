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

# Translations for torch.onnx.export: operator -> function that emits its node.
TRANSLATIONS = {STOP: lambda x: _stop(x), REPLACE: lambda value, path: _replace(value, path)}


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
