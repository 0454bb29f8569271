# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recursions over steps as a node of Scan, whose body stands once: the time of an export does not grow with their number.

- an LSTM with projections (proj_size), for which ONNX has no operator.
- the recursion of ctc_loss (alignments.py), in the traced program a call of torch.ops.dtcc.alignments.
"""
import onnx_ir as ir
import onnx_ir.tape
import torch
from onnxscript.function_libs.torch_lib.ops.core import aten_lstm
from onnxscript.onnx_opset import opset18 as op
from torch.onnx._internal.exporter._torchlib.ops.hop import call_op

from .alignments import ALIGNMENTS, FAR
from .operators import DOMAIN


def scan(step, carried, scanned, types, gives=0, backward=False):
    """The results of a node of Scan: what is carried, and behind it `gives` values of every step. `step` takes a tape, what is
    carried and a slice of each value that is scanned, whose types are given; it returns the results of one step."""
    tape, inputs = ir.tape.Tape(), [ir.Value(type=ir.TensorType(each)) for each in types]
    results = step(tape, *inputs)
    for result, like in zip(results, [*types[:len(carried)], *[types[0]] * gives]):
        result.type = ir.TensorType(like)
    return call_op("Scan", *carried, *scanned, _num_outputs=len(results), num_scan_inputs=len(scanned),
                   body=ir.Graph(inputs, results, nodes=tape.nodes, name="step"),
                   scan_input_directions=[int(backward)] * len(scanned), scan_output_directions=[int(backward)] * gives)


def projected_direction(x, h, c, of_x, of_h, biases, projection, dtype, backward):
    """One direction of an LSTM whose output is h = projection @ (o * tanh(c)): (h of all steps, h and c at the end)."""
    gates = op.MatMul(x, op.Transpose(of_x, perm=[1, 0]))
    for bias in biases:
        gates = op.Add(gates, bias)
    of_h, projection = (op.Transpose(weight, perm=[1, 0]) for weight in (of_h, projection))

    def step(tape, h, c, gates):
        def of(name, *operands):
            return tape.op(name, operands)
        gates = of("Add", gates, of("MatMul", h, of_h))
        i, f, g, o = tape.op_multi_out("Split", [gates], {"axis": -1, "num_outputs": 4}, num_outputs=4)
        c = of("Add", of("Mul", of("Sigmoid", f), c), of("Mul", of("Sigmoid", i), of("Tanh", g)))
        h = of("MatMul", of("Mul", of("Sigmoid", o), of("Tanh", c)), projection)
        return h, c, of("Identity", h)

    h, c, hs = scan(step, [h, c], [gates], [dtype] * 3, gives=1, backward=backward)
    return hs, h, c


def lstm(x, states, weights, has_biases, layers, dropout, train, both, batch_first):
    """The nodes of torch.nn.LSTM, which are the exporter's own unless it has projections. The weights of a direction are those
    of x and h, their biases and the projection."""
    if states[0].shape[-1] == states[1].shape[-1]:
        return aten_lstm(x, states, weights, has_biases, layers, dropout, train, both, batch_first)
    dtype, each, directions, ends = x.dtype, 5 if has_biases else 3, 2 if both else 1, []
    steps = op.Transpose(x, perm=[1, 0, 2]) if batch_first else x
    for layer in range(layers):
        results = []
        for direction in range(directions):
            place = layer * directions + direction
            of_x, of_h, *biases, projection = weights[place * each:(place + 1) * each]
            starts = (op.Squeeze(op.Slice(state, [place], [place + 1], axes=[0]), [0]) for state in states)
            hs, *end = projected_direction(steps, *starts, of_x, of_h, biases, projection, dtype, bool(direction))
            results.append(hs)
            ends.append([op.Unsqueeze(state, [0]) for state in end])
        steps = op.Concat(*results, axis=-1) if both else results[0]
        if dropout > 0 and train and layer + 1 < layers:
            steps, _ = op.Dropout(steps, dropout, train)
    h, c = (op.Concat(*states, axis=0) for states in zip(*ends))
    return op.Transpose(steps, perm=[1, 0, 2]) if batch_first else steps, h, c


def alignments(start, emitted, counts, passed):
    """The recursion of ctc_loss, as alignments.py has it."""
    padding, far = op.Constant(value_ints=[0, 2, 0, 0]), op.CastLike(-FAR, start)
    slices = [[op.Constant(value_ints=[place]) for place in ends] for ends in ((1, -1, 1), (0, -2, 1))]

    def step(tape, alpha, emission, counts):
        def of(name, *operands):
            return tape.op(name, operands)
        before = of("Pad", alpha, padding, far)
        one, two = (of("Slice", before, *ends) for ends in slices)
        terms = alpha, one, of("Add", two, passed)
        high = tape.op("StopGradient", [of("Max", *terms)], domain=DOMAIN)
        total = of("Sum", *(of("Exp", of("Sub", term, high)) for term in terms))
        moved = of("Add", of("Add", high, of("Log", total)), emission)
        return (of("Where", counts, moved, alpha),)

    return scan(step, [start], [emitted, counts], [start.dtype, start.dtype, ir.DataType.BOOL])[0]


TRANSLATIONS = {torch.ops.aten.lstm.input: lstm, ALIGNMENTS: alignments}
