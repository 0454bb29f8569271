# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""export(): trace, keep what trains, write."""
import contextlib
import dataclasses
import inspect
import io
import json
import logging
import os
import re
import tempfile
import warnings
from unittest import mock

import onnx
import onnx_ir as ir
import onnxscript.optimizer
import torch
from onnx_ir.tensor_adapters import TorchTensor
from torch.export import _trace

from . import adapters as low_rank
from . import alignments, compare, decompositions, forms, gradients, manifest, notes, operators, optimizers, packed, picked
from . import scans, sizes, state
from . import graph as surgery
from .losses import ExportError, ExportWarning, RowsOfData, check_loss_trains_nothing, with_loss
from .rewrite import rewrite_lossy_calls

PREFIX = "model."  # the wrapper's name for the user's module
EXTERNAL_FROM = 256 << 20  # bytes of parameters from which on they lie beside the file


def named_inputs(module, example_inputs):
    """Example inputs by the name under which forward takes them."""
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    if not isinstance(example_inputs, dict):
        names = list(inspect.signature(module.forward).parameters)
        if len(example_inputs) > len(names):
            raise ExportError(f"forward takes {len(names)} arguments, got {len(example_inputs)}; name the others: "
                              "pass a dict")
        example_inputs = dict(zip(names, example_inputs))
    for name, value in example_inputs.items():
        if not name.isidentifier():
            raise ExportError(f"input name must be an identifier, got: '{name}'")
        if not isinstance(value, torch.Tensor):
            raise ExportError(f"example input '{name}' must be a tensor, got: {type(value).__name__}")
    # One tensor given as two inputs, as ids and labels often are, would be traced as one input.
    return {name: value.detach().clone() for name, value in example_inputs.items()}


def default_dynamic(inputs):
    """The first dimension is the batch; the second of integer inputs (token ids, masks, labels) the sequence, if all have
    the same."""
    matrices = {name: value for name, value in inputs.items() if value.dim() == 2 and not value.is_floating_point()}
    if len({value.shape[1] for value in matrices.values()}) > 1:
        matrices = {}
    return {name: ({0: "batch"} if value.dim() else {}) | ({1: "seq"} if name in matrices else {})
            for name, value in inputs.items()}


# Dimensions that are held at the example's size if the module accepts no other size, and the warning about each.
HELD = (({"seq"}, "sequences of the example's length alone: no dimension is named 'seq'"),
        ({"batch"}, "batches of the example's size alone: no dimension is named 'batch'"),
        ({"seq", "batch"}, "batches of the example's sizes alone: no dimension is named 'batch' or 'seq'"))


def trace_default(wrapper, inputs, dynamic, opset):
    """trace(), and where the module takes one length alone (stored positions, a loop over them) or one batch (Python's len
    of it, in a contrastive loss), for it."""
    try:
        return trace(wrapper, inputs, dynamic, opset)
    except ExportError:
        raise
    except Exception as first:  # noqa: BLE001 - the exporter has many kinds
        tried, last = [dynamic], first
        for held, what in HELD:
            fixed = {name: {axis: symbol for axis, symbol in dims.items() if symbol not in held}
                     for name, dims in dynamic.items()}
            if fixed in tried:
                continue
            tried.append(fixed)
            try:
                traced = trace(wrapper, inputs, fixed, opset)
            except ExportError:
                raise
            except Exception as error:  # noqa: BLE001
                last = error
                continue
            warnings.warn(f"the module takes {what}", ExportWarning, stacklevel=2)
            return traced
        # What is wrong where all sizes are held is not about sizes.
        raise last from last.__cause__


def check_examples(inputs, dynamic):
    sizes, first = {}, {}
    for name, dims in dynamic.items():
        if name not in inputs:
            raise ExportError(f"dynamic names an unknown input: '{name}'")
        for axis, symbol in dims.items():
            size = inputs[name].shape[axis]
            if size < 2:
                raise ExportError(f"dynamic dimension '{symbol}' of '{name}' must be at least 2 in the example, got: "
                                  f"{size}; the exporter would take it for a constant")
            if sizes.setdefault(symbol, size) != size:
                raise ExportError(f"dimension '{symbol}' is {sizes[symbol]} in '{first[symbol]}' and {size} in '{name}': the first "
                                  "dimension of every input counts as samples, so make what is the same for all samples a buffer of "
                                  "the module, or name the dimensions by dynamic=")
            first.setdefault(symbol, name)


def check_samples(inputs):
    for name, value in inputs.items():
        if not value.dim():
            raise ExportError(f"example input '{name}' is a scalar, and every input of a step has a dimension of samples: give "
                              "it a number for each sample, or make it a buffer of the module")


@contextlib.contextmanager
def training(module, train):
    """The module in the modes of an optimizer step; its own come back.

    train() is called as the user's loop calls it. But a module in training mode with some part in evaluation mode is as
    that loop has left it: the part is frozen.
    """
    modes = {m: m.training for m in module.modules()}
    if train or train is None and (not module.training or all(modes.values())):
        module.train()
    still = [n for n, m in module.named_modules() if not m.training and not list(m.children())
             and (m._buffers or isinstance(m, torch.nn.modules.dropout._DropoutNd))]
    if module.training and still:
        warnings.warn(f"in evaluation mode stay {compare.listed(still)}", ExportWarning, stacklevel=3)
    try:
        yield
    finally:
        for m, mode in modes.items():
            m.training = mode


def check_batch_norms(module):
    for name, child in module.named_modules():
        if isinstance(child, torch.nn.modules.batchnorm._BatchNorm) and child.training and child.momentum is None and \
                child.track_running_stats:
            raise ExportError(f"batch norm '{name}' averages the statistics of all steps (momentum=None), which cannot be "
                              "exported; give it a momentum")


def check_scripts(module):
    for name, child in module.named_modules():
        if isinstance(child, torch.jit.ScriptModule):
            raise ExportError(f"{f'module {name!r}' if name else 'the module'} is compiled by torch.jit, which cannot be traced: give the "
                              "module that it was made of")


# What torch.export says where the number of a tensor's rows, or a condition of Python's, follows from the data.
BRANCHES = "data-dependent expression"
# What it says where a dimension that was to be open has the example's size alone.
CONSTRAINTS = "Constraints violated"

# Loggers of PyTorch's that print pages about what export() says in one line, or about packages that nobody asked for.
LOGGERS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes", "torch.onnx._internal.exporter._registration")


@contextlib.contextmanager
def quiet():
    """Four warnings of PyTorch's own are not shown: about two inputs whose dimensions have one symbol, which is wanted, about
    empty attributes, which its exporter writes itself, about a check of sizes in its traces of recurrent layers, and about
    the list of weights that these layers keep. Nor are the pages that it prints where a trace fails."""
    def shown(record):
        return "Attribute type is ambiguous" not in record.getMessage()

    logger = logging.getLogger("onnx_ir._convenience")
    logger.addFilter(shown)
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "# The axis name: ")
            warnings.filterwarnings("ignore", "_check_is_size will be removed")
            warnings.filterwarnings("ignore", r"The tensor attributes? .*\._flat_weights")
            yield
    finally:
        logger.removeFilter(shown)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


class NoForm(ValueError):
    """A call that has no form in ONNX."""


def bare(name):
    """The name of a call without what PyTorch adds to those that calls are made of: linalg_qr of _linalg_qr_ex."""
    return re.sub("^(special|bessel)|ex$", "", name.replace("_", ""))


@contextlib.contextmanager
def forms_needed(program):
    """Names a call that the exporter has no form for, and the line of the user's code that makes it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - those of the exporter are nested
        cause = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        unknown = re.match(r"No ONNX function found for <OpOverload\(op='(\w+)\.(\w+)'", str(cause))
        if not unknown:
            raise
        made = [node for node in program.graph.nodes if bare(getattr(node.target, "_opname", "")) == bare(unknown[2])]
        name = f"aten.{made[0].target._opname}" if made else f"{unknown[1]}.{unknown[2]}"
        raise NoForm(f"'{name}' has no form in ONNX{gradients.place(made[0]) if made else ''}: write it with other operations "
                     "(docs/limits.md names such calls)") from None


@contextlib.contextmanager
def refusals():
    """The errors of torch.export and its ONNX exporter, which are pages long, in one line."""
    try:
        yield
    except ExportError:
        raise
    except Exception as error:  # noqa: BLE001 - they have many kinds
        while error.__cause__ is not None:
            error = error.__cause__
        if isinstance(error, NoForm):
            raise ExportError(str(error)) from error
        held = re.match(r"Constraints violated \(L\['(\w+)'\]\.size\(\)\[(\d+)\]", str(error))
        if held:
            raise ExportError(f"the module takes no size of dimension {held[2]} of '{held[1]}' but the example's: leave that "
                              "dimension out of dynamic=") from error
        branch = BRANCHES in str(error)
        if notes.derivatives and not branch:
            raise ExportError(f"forward takes a gradient itself ({notes.derivatives[0]}), which cannot be exported: write the derivative "
                              "with operations, or take it in forward mode, by torch.func.jvp") from error
        raise ExportError("forward branches on what a tensor holds, which no trace knows" + gradients.place_of(error) + ": choose by "
                          "torch.where, or give a number that does not change as a plain number" if branch else
                          f"the module cannot be traced for ONNX: {notes.reason(error)}{gradients.place_of(error)}") from error


@dataclasses.dataclass
class Traced:
    """The exporter's own result, before any optimization; buffers whose next values are outputs behind its own; the number
    of outputs behind these, results of norms that nothing else reads; running statistics that norms move, with the
    momentum; parameters without gradient; conditions on open sizes."""
    model: ir.Model
    changed: list
    unread: int
    moving: dict
    without_gradient: set
    conditions: list


def program_of(wrapper, inputs, shapes):
    """The traced module, and whether it computes all rows in place of as many as the data say: it is traced anew for that."""
    names = {symbol for dims in shapes.values() for symbol in dims.values()}
    dims = {symbol: torch.export.Dim.DYNAMIC for symbol in names}
    dynamic = {n: {a: dims[s] for a, s in d.items()} for n, d in shapes.items()}
    program = None

    def traced():
        options = {"kwargs": inputs, "strict": False, "dynamic_shapes": dynamic}
        try:
            return torch.export.export(wrapper, (), **options)
        except forms.GroupedRows:
            with forms.UnsortedExperts():
                return torch.export.export(wrapper, (), **options)
    try:
        program = traced()
        if not picked.depends_on_data(program):
            return program, False
    except Exception as error:  # noqa: BLE001 - the exporter has many kinds
        if BRANCHES not in str(error) and not isinstance(error, RowsOfData):
            raise
        first = error
    try:
        return picked.trace_rows(wrapper, inputs, traced), True
    except ExportError:
        raise
    except Exception as error:  # noqa: BLE001
        if program is None:
            raise first from None
        if CONSTRAINTS in str(error):  # The caller knows which size to fix.
            raise
        raise ExportError("a mask picks rows, whose number no shape tells, and the module cannot be traced with all rows in their place: "
                          f"{notes.reason(error)}{gradients.place_of(error)}") from error


def trace(wrapper, inputs, dynamic, opset):
    with contextlib.redirect_stdout(io.StringIO()):
        shapes = {name: dict(dynamic.get(name, {})) for name in inputs}
        with notes.noted(wrapper), forms.still_modules(), forms.open_lengths(), forms.traceable_functions(), forms.known_truths(wrapper) as flags, \
                alignments.written_out(), packed.as_padded() as packs, sizes.noted_questions() as asked, \
                mock.patch.object(_trace, "print", lambda *_, **__: None, create=True):
            program, computes_all = program_of(wrapper, inputs, shapes)
        changed, unread = gradients.mark(program)
        if flags.intersection(changed):
            raise ExportError(f"forward branches on {compare.listed(own_name(n) for n in flags.intersection(changed))}, which it "
                              "changes, and a trace holds one branch: choose by torch.where")
        moving = gradients.moving_statistics(program)
        drops = not computes_all and not packs
        without_gradient = compare.check_trace(program, wrapper, inputs, {*changed, *moving}, drops)
        more_than_one = [{"condition": f"{name} > 1", "line": line}
                         for name, line in sizes.asked_of_one(program, shapes, inputs, asked).items()
                         if not compare.agrees(program, wrapper, sizes.cut_to_one(inputs, shapes, name), drops)]
        program = rewrite_lossy_calls(program)
        with forms_needed(program), decompositions.of_single_calls():
            exported = torch.onnx.export(program, (), kwargs=inputs, dynamo=True, dynamic_shapes=shapes, optimize=False,
                                         verbose=False, opset_version=opset,
                                         custom_translation_table={**operators.TRANSLATIONS, **scans.TRANSLATIONS})
    return Traced(exported.model, changed, unread, moving, without_gradient,
                  sizes.conditions(program, shapes, inputs) + more_than_one)


def add_initializer(graph, name, tensor):
    value = ir.Value(name=name, const_value=TorchTensor(tensor.detach().clone(), name=name))
    value.shape, value.dtype = value.const_value.shape, value.const_value.dtype
    graph.initializers[name] = value
    return value


def own_name(name):
    """The name that the user's module has for what its wrapper calls `name`."""
    return name.removeprefix(PREFIX)


def keep_parameters(graph, module, names):
    """Makes every parameter an initializer, also those that the graph does not read. Returns the initializers, and the
    first names of those that the graph reads. names: the first name of each parameter."""
    found = {name: graph.initializers.get(PREFIX + name) for name in names}
    used = {names[name] for name, value in found.items() if value is not None and value.uses()}
    for name, value in found.items():
        if value is None and name == names[name] and name not in used:
            found[name] = add_initializer(graph, PREFIX + name, module.get_parameter(name))
    return [value for value in found.values() if value is not None], used


def keep_buffers(graph, module, traced):
    """Makes what follows buffers outputs: the next values of those that forward writes, and of running statistics that
    move. Returns the initializers of both, and {buffer: the value that follows it} by the wrapper's names."""
    # A buffer that forward writes and never reads is none of the exporter's initializers.
    for name in traced.changed:
        if name not in graph.initializers:
            add_initializer(graph, name, module.get_buffer(own_name(name)))
    unread = [graph.outputs.pop() for _ in range(traced.unread)]
    follows = surgery.switch_on_norms(graph, traced.moving) | surgery.name_buffers(graph, traced.changed)
    surgery.put_out_statistics(graph, unread)
    statistics = [value for name, value in graph.initializers.items()
                  if name.endswith((".running_mean", ".running_var")) or name in follows]
    return statistics, follows


def simplify(model, kept, trains):
    """Folds what is constant, but none of the initializers `kept`, and leaves out what only the exporter needed."""
    graph = model.graph
    if trains:
        surgery.switch_on_dropout(graph)
    with surgery.hidden(graph, kept), surgery.distinct_dropouts(graph), surgery.exact_constants(), surgery.quick_matches():
        onnxscript.optimizer.optimize_ir(model)
    surgery.flatten_axes(graph)
    surgery.leave_no_key(graph)
    surgery.drop_traces(model)
    operators.define(model)


def name_as_module(graph, module, names):
    """Gives initializers and what follows buffers the names of the user's module: tied parameters the first of theirs."""
    for value in list(graph.initializers.values()):
        if value.name.startswith(PREFIX):
            del graph.initializers[value.name]
            value.name = names.get(own_name(value.name), own_name(value.name))
            if value.const_value is not None:
                value.const_value.name = value.name
            graph.initializers[value.name] = value
    # Buffers that the graph does not read, or reads as other constants, are still the module's.
    for name, buffer in module.named_buffers():
        if name not in graph.initializers and manifest.is_persistent(module, name):
            add_initializer(graph, name, buffer)
    for node in graph:
        if node.op_type in surgery.NORMS and len(node.outputs) == 3:
            for output in list(node.outputs)[1:]:
                output.name = own_name(output.name)
    for output in graph.outputs:
        output.name = own_name(output.name)


def reduction_of(output, described):
    """How examples enter the loss: as the graph's last operator says, "mean" for our own, None where nobody knows."""
    node = output.producer()
    if node is not None and "reduction" in node.attributes:
        return node.attributes["reduction"].as_string()
    return "mean" if described["kind"] not in ("module", "custom") else None


@quiet()
def export(module, example_inputs, path, loss=None, *, dynamic=None, optimizer=None, no_decay=(), train=None,
           opset=None, external_data=None, adapters=None):
    """Writes module and loss as one ONNX graph whose only output is the loss, and returns the manifest.

    module          a torch.nn.Module; it is not changed
    example_inputs  {name: tensor}, or the tensors in the order of forward; batch and sequence at least 2
    path            the file to write; it is replaced only if all went well
    loss            None: the module returns its loss, something with .loss or ["loss"] (transformers with labels), or a
                    tuple or dictionary with one scalar;
                    "cross_entropy", "causal_lm", "mse", "l1" or "bce", with options as in dtcc's --loss, on the
                    example input "labels" ("target"); a callable (output, targets by name) -> scalar;
                    False: no loss, the graph returns the module's output
    dynamic         {input: {axis: symbol}}; default: axis 0 is "batch", axis 1 of integer matrices "seq" if all
                    agree and the module takes any length
    optimizer       a torch optimizer over the parameters: its groups say what trains and decays
    no_decay        globs of parameter names without weight decay
    train           None: train() is called, unless the module is in training mode with parts in evaluation mode: these
                    stay frozen; True: train() is called in any case; False: every submodule keeps its mode
    opset           ONNX opset; default: the exporter's
    external_data   weights beside the file, in PATH.data (PATH.1.data if the file there reads that); default: above 256 MiB
    adapters        {glob of module names: (base, up, down, scale)}: layers that add scale * up @ down to the weight of
                    base, which --save-merged of a program sums; those of PEFT are found

    Raises ExportError for what the file could not say faithfully.
    """
    inputs = named_inputs(module, example_inputs)
    traced = trace_default if dynamic is None else trace
    dynamic = default_dynamic(inputs) if dynamic is None else dynamic
    check_examples(inputs, dynamic)
    if loss is not False:
        check_samples(inputs)
    with training(module, train), forms.traced_experts(module), forms.plain_flex_attention(), refusals():
        check_scripts(module)
        check_batch_norms(module)
        check_loss_trains_nothing(module, loss)
        if optimizer is not None:
            optimizers.check(optimizer)
        wrapper, targets, described = with_loss(module, list(inputs), loss)
        wrapper.training = module.training
        state.check_state(wrapper, inputs)
        result = forms.with_plain_attention(module, lambda: traced(wrapper, inputs, dynamic, opset))
        trains = module.training
    graph = result.model.graph
    names = manifest.canonical_names(module)
    parameters, used = keep_parameters(graph, module, names)
    statistics, follows = keep_buffers(graph, module, result)
    simplify(result.model, parameters + statistics, trains)
    name_as_module(graph, module, names)
    if loss is not False:
        graph.outputs[0].name = "loss"
        described = {**described, "output": "loss", "reduction": reduction_of(graph.outputs[0], described)}
    surgery.separate_names(graph)

    facts = {"version": manifest.VERSION, "producer": f"dtcc_export 1 (torch {torch.__version__.partition('+')[0]})",
             "parameters": manifest.parameters(module, used - result.without_gradient, optimizer, no_decay),
             "buffers": manifest.buffers(module, graph.initializers,
                                         {own_name(buffer): own_name(value) for buffer, value in follows.items()},
                                         {own_name(buffer): momentum for buffer, momentum in result.moving.items()}),
             "loss": described,
             "inputs": manifest.inputs(graph, targets)}
    if result.conditions:
        facts["conditions"] = result.conditions
    if described_adapters := low_rank.described(module, adapters):
        facts["adapters"] = described_adapters
    result.model.metadata_props[manifest.KEY] = json.dumps(facts, separators=(",", ":"))
    result.model.producer_name, result.model.producer_version = "dtcc_export", "1"
    write(result.model, path, external_data)
    return facts


def data_of(path):
    """Names of the data files beside an ONNX file that it reads. None for a file that is not there, or is no ONNX file."""
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception:  # noqa: BLE001 - whatever lies there is replaced
        return set()
    return {entry.value for held in model.graph.initializer for entry in held.external_data if entry.key == "location"}


def write(model, path, external_data):
    """Writes beside the target first: a failed export leaves an older file as it was.

    An older file goes on reading its own data until it is replaced, last: the new data have another name, and the old ones are
    removed afterwards.
    """
    if external_data is None:
        size = sum(v.const_value.nbytes for v in model.graph.initializers.values() if v.const_value is not None)
        external_data = size > EXTERNAL_FROM
    folder, name = os.path.split(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ExportError(f"no such folder: '{folder}'")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".dtcc_export.") as temporary:
        candidates, former = [name + ".data", name + ".1.data"], data_of(path)
        data = next(each for each in candidates if each not in former) if external_data else None
        ir.save(model, os.path.join(temporary, name), external_data=data)
        written = [data] if data and os.path.exists(os.path.join(temporary, data)) else []
        try:
            for file in [*written, name]:
                os.replace(os.path.join(temporary, file), os.path.join(folder, file))
        except BaseException:
            for file in written:
                with contextlib.suppress(OSError):
                    os.remove(os.path.join(folder, file))
            raise
    for each in former.intersection(candidates) - {data}:
        with contextlib.suppress(OSError):
            os.remove(os.path.join(folder, each))
