# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What forward asks in Python about a size that stays open: a trace holds what follows from the answer for the example's size.

PyTorch notes each question as a guard of the trace. The file says each as a condition on its sizes, and dtcc binds no size for
which a condition does not hold.
"""
import contextlib
import linecache
import os
import sys
import warnings
from unittest import mock

import sympy
import torch
from torch._guards import SLoc
from torch.fx.experimental.symbolic_shapes import ShapeEnv, uninteresting_files
from torch.utils._sympy import functions

from .gradients import HERE, LIBRARY, bracketed
from .losses import ExportWarning

# PyTorch's files in Python that ask what a user's own code could ask. The others ask for the sake of layouts, or to check shapes,
# which dtcc derives anew for the sizes that are bound.
ASKING = (os.path.join(LIBRARY, "nn", ""), os.path.join(LIBRARY, "functional.py"))
NOT_ASKING = os.path.join(LIBRARY, "nn", "modules", "module.py")
TRACING = os.path.join(HERE, "api.py")


def question():
    """(whether it is forward that asks now, and not PyTorch for its own sake; the file and number of the user's line that runs now,
    the innermost outside PyTorch and this script, or None where the traced program runs and not the module)."""
    frame, beneath = sys._getframe(1), uninteresting_files() | {__file__}
    while frame is not None and frame.f_code.co_filename in beneath:
        frame = frame.f_back
    file = frame.f_code.co_filename if frame is not None else LIBRARY
    asks = not file.startswith(LIBRARY) or file.startswith(ASKING) and file != NOT_ASKING
    while frame is not None and frame.f_code.co_filename != TRACING:
        if not frame.f_code.co_filename.startswith((LIBRARY, HERE)):
            return asks, (frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return asks, None


@contextlib.contextmanager
def noted_questions():
    """While a module is traced, each guard holds question() as its user's location. Gives a list, which fills, of the questions of
    forward without a guard: (condition or number, the answer, the line)."""
    summary, evaluate, asked, guarded = ShapeEnv._get_stack_summary, ShapeEnv.evaluate_sym_node, [], set()

    def with_question(shape_env, *args, **options):
        location, more = summary(shape_env, *args, **options)
        return SLoc(location.framework_loc, question()), more

    def noting(shape_env, node, *args, **options):
        (asks, line), known, expression = question(), len(shape_env.guards), node.expr
        answer = evaluate(shape_env, node, *args, **options)
        if len(shape_env.guards) > known:
            guarded.add(expression)
        elif asks and expression.free_symbols and expression not in guarded:
            asked.append((expression, answer, line))
        return answer
    with mock.patch.object(ShapeEnv, "_get_stack_summary", with_question), mock.patch.object(ShapeEnv, "evaluate_sym_node", noting):
        yield asked


class NoText(ValueError):
    """An expression that dtcc does not read."""


# How strongly an operator binds: as in Python.
OR, AND, NOT, COMPARISON, BITS, SUM, PRODUCT, UNARY, POWER, ATOM = range(10)
COMPARISONS = {sympy.Eq: "==", sympy.Ne: "!=", sympy.StrictLessThan: "<", sympy.LessThan: "<=", sympy.StrictGreaterThan: ">",
               sympy.GreaterThan: ">="}
# Class -> (operator, how strongly it binds).
OPERATORS = {sympy.Or: ("or", OR), sympy.And: ("and", AND), functions.BitwiseFn_bitwise_and: ("&", BITS),
             sympy.Mul: ("*", PRODUCT), functions.FloorDiv: ("//", PRODUCT), functions.CleanDiv: ("//", PRODUCT),
             functions.Mod: ("%", PRODUCT), functions.PythonMod: ("%", PRODUCT), functions.IntTrueDiv: ("/", PRODUCT),
             functions.FloatTrueDiv: ("/", PRODUCT), **{kind: (text, COMPARISON) for kind, text in COMPARISONS.items()}}
POWERS = (sympy.Pow, functions.PowByNatural, functions.FloatPow)
CALLS = {functions.Max: "max", functions.Min: "min", sympy.Max: "max", sympy.Min: "min", functions.TruncToInt: "int",
         functions.FloorToInt: "floor", functions.CeilToInt: "ceil", functions.RoundToInt: "round", sympy.Abs: "abs",
         functions.OpaqueUnaryFn_sqrt: "sqrt"}
TRANSPARENT = (functions.ToFloat, functions.Identity)


def written(expression):
    """(text, how strongly its outermost operator binds) of an expression of sizes, as frontends/onnx/file/SizeExpression.h reads
    it. Raises NoText for what that does not read."""
    def operand(each, least):
        text, strength = written(each)
        return text if strength >= least else f"({text})"

    kind, operands = expression.func, expression.args
    if isinstance(expression, sympy.Symbol):
        return expression.name, ATOM
    if isinstance(expression, (sympy.Integer, int)):
        return str(expression), ATOM if expression >= 0 else UNARY
    if isinstance(expression, sympy.Float):
        text = repr(float(expression))
        if not text.replace(".", "").lstrip("-").isdigit():
            raise NoText(str(expression))
        return text, ATOM if float(expression) >= 0 else UNARY
    if isinstance(expression, sympy.Rational):
        return f"{expression.p} / {expression.q}", PRODUCT
    if isinstance(expression, TRANSPARENT):
        return written(operands[0])
    if kind is sympy.Not:
        return f"not {operand(operands[0], COMPARISON)}", NOT
    if isinstance(expression, POWERS):
        return f"{operand(operands[0], ATOM)} ** {operand(operands[1], ATOM)}", POWER
    if kind in CALLS:
        return f"{CALLS[kind]}({', '.join(written(each)[0] for each in operands)})", ATOM
    if kind is functions.CeilDiv:
        return f"ceil({operand(operands[0], PRODUCT)} / {operand(operands[1], UNARY)})", ATOM
    if kind is sympy.Mul and operands[0] == -1:
        return f"-{operand(sympy.Mul(*operands[1:]), UNARY)}", UNARY
    if kind is sympy.Add:
        first, *others = sorted(operands, key=lambda each: (each.is_number, each.could_extract_minus_sign(), str(each)))
        return operand(first, SUM) + "".join(
            f" - {operand(-each, PRODUCT)}" if each.could_extract_minus_sign() else f" + {operand(each, PRODUCT)}" for each in others), SUM
    if kind not in OPERATORS:
        raise NoText(str(expression))
    sign, strength = OPERATORS[kind]
    first, *others = operands
    # Comparisons do not follow each other without brackets; of other operators those of one strength go from left to right.
    return f" {sign} ".join([operand(first, strength + (strength == COMPARISON)), *(operand(each, strength + 1) for each in others)]), strength


def names_of_sizes(program, shapes):
    """Symbol of the trace -> name of the dimension as a symbol, and the trace's guards."""
    names, guards = {}, []
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op != "placeholder" or node.name not in shapes or not isinstance(value, torch.Tensor):
            continue
        for axis, name in shapes[node.name].items():
            size = value.shape[axis]
            if isinstance(size, torch.SymInt):
                # A size that turned out to be another one has two symbols.
                for symbol in (size.node.expr, size.node._expr):
                    names[symbol] = sympy.Symbol(name, integer=True, positive=True)
                guards = size.node.shape_env.guards
    return names, guards


def text_of(line):
    return linecache.getline(*line).strip() if line else ""


def questions(program, shapes):
    """(condition that holds for the example, of sizes by their names; the user's line) of each question about open sizes."""
    names, guards = names_of_sizes(program, shapes)
    for guard in guards:
        asks, line = guard.sloc.maybe_user_loc or (False, None)
        condition = guard.expr.xreplace(names)
        if asks and condition is not sympy.true and guard.expr.free_symbols <= names.keys():
            yield condition, text_of(line)


def example_sizes(shapes, inputs):
    return {name: inputs[key].shape[axis] for key, dims in shapes.items() for axis, name in dims.items()}


def conditions(program, shapes, inputs):
    """One row a question: the condition on the sizes that are bound, and the line that asks. Where dtcc could not compute the
    condition, the example's sizes alone are known to fulfil it."""
    example, rows = example_sizes(shapes, inputs), []
    for condition, line in questions(program, shapes):
        try:
            row = {"condition": written(condition)[0], "line": line}
        except NoText:
            row = {"condition": " and ".join(f"{name} == {example[name]}" for name in sorted(map(str, condition.free_symbols))),
                   "line": line}
            if row not in rows:
                warnings.warn(f"forward asks about a size{bracketed(line) if line else ''}, and whether {condition} holds cannot be told for "
                              f"others: dtcc compiles the file for {row['condition']} alone", ExportWarning, stacklevel=2)
        if row not in rows:
            rows.append(row)
    return rows


def asked_of_one(program, shapes, inputs, asked):
    """Name of a dimension -> the line that asks, of questions with another answer where the size is 1. Traces hold the answer
    for larger sizes, without a guard."""
    names, _ = names_of_sizes(program, shapes)
    example, lines = {sympy.Symbol(name, integer=True, positive=True): size for name, size in example_sizes(shapes, inputs).items()}, {}
    for expression, answer, line in asked:
        expression = sympy.sympify(expression).xreplace(names)
        for name in expression.free_symbols & example.keys():
            other = expression.xreplace({**example, name: sympy.Integer(1)})
            if other.is_Boolean and bool(other) != bool(answer):
                lines.setdefault(name.name, text_of(line))
    return lines


def cut_to_one(inputs, shapes, name):
    """The inputs with size 1 in the dimensions of a name."""
    for key, dims in shapes.items():
        for axis, each in dims.items():
            if each == name:
                inputs = {**inputs, key: inputs[key].narrow(axis, 0, 1)}
    return inputs
