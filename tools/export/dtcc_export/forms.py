# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of a module that can be traced: transformers offers several of one computation.

Its default for experts calls a kernel that ONNX has no operator for; the batched form gathers the picked experts'
weights, from which dtcc recovers the layer. PyTorch cannot decompose some uses of fused attention (T5's); the plain form
says the same in products and a softmax, which dtcc recovers too. A forward pass may give a layer the type that it has
already, as the routers of Switch Transformers do; PyTorch exchanges the layer's parameters then, which no trace allows.
PyTorch traces a recurrent layer by its steps one after the other, which holds their number. For LSTM and GRU its ONNX exporter
has a form that is a loop and leaves the number open, in use once it has run in the process.
"""
import ast
import contextlib
import functools
import linecache
import math
import sys
from unittest import mock

import torch
from torch._higher_order_ops import utils as higher_order
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.export import _patches
from torch.nn import functional
from torch.nn.attention import SDPBackend, flex_attention as flex, sdpa_kernel
from torch.overrides import TorchFunctionMode

from . import formulas
from .losses import ExportError

aten = torch.ops.aten
CONTROL_FLOW = higher_order._hop_compile_and_call
TRACED_EXPERTS = ("batched_mm", "eager")


@contextlib.contextmanager
def chosen(module, setter, field, form):
    """The module with `form` for what `setter` sets and `config.field` tells; what it had comes back."""
    before = getattr(getattr(module, "config", None), field, None)
    if before is None or before == form or not hasattr(module, setter):
        yield
        return
    getattr(module, setter)(form)
    try:
        yield
    finally:
        getattr(module, setter)(before)


@contextlib.contextmanager
def experts(module, form, kept=()):
    """The module, and each model of transformers inside it, with its experts in `form`, or in one that is `kept`."""
    with contextlib.ExitStack() as forms:
        for part in module.modules():
            if getattr(getattr(part, "config", None), "_experts_implementation", None) not in kept:
                forms.enter_context(chosen(part, "set_experts_implementation", "_experts_implementation", form))
        yield


def traced_experts(module):
    """The module, and each model of transformers inside it, with its experts in a form that ONNX can say."""
    return experts(module, "batched_mm", TRACED_EXPERTS)


@contextlib.contextmanager
def still_modules():
    """While a module is traced, `to` and its like of a submodule change nothing where all is as they ask for."""
    apply = torch.nn.Module._apply

    def apply_changes(self, change, recurse=True):
        tensors = [*self.parameters(recurse), *self.buffers(recurse)]
        if all((new.dtype, new.device) == (t.dtype, t.device) for t, new in zip(tensors, map(change, tensors))):
            return self
        return apply(self, change, recurse)

    torch.nn.Module._apply = apply_changes
    try:
        yield
    finally:
        torch.nn.Module._apply = apply


def gaussian_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """F.gaussian_nll_loss, which looks whether a variance is negative. No trace knows: here it counts as `eps`."""
    if not torch.is_tensor(var):
        var = torch.full_like(input, var)
    elif var.dim() == input.dim() - 1:
        var = var.unsqueeze(-1)
    var = var + (var.clamp(min=eps) - var).detach()
    each = 0.5 * (torch.log(var) + (input - target).square() / var + (math.log(2 * math.pi) if full else 0))
    return each if reduction == "none" else each.mean() if reduction == "mean" else each.sum()


def probability_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """F.binary_cross_entropy, whose gradient is not that of its logarithms: PyTorch divides by input (1 - input), and by 1e-12
    where that is less, so that probabilities of 0 and 1 have a gradient."""
    if input.shape != target.shape or size_average is not None or reduce is not None:
        return BINARY_CROSS_ENTROPY(input, target, weight, size_average, reduce, reduction)
    still = input.detach()
    loss = -(target * still.log().clamp(min=-100) + (1 - target) * torch.log1p(-still).clamp(min=-100))
    slope = (still - target) / ((1 - still) * still).clamp(min=1e-12)
    each = loss + slope.detach() * (input - still)
    each = each if weight is None else each * weight
    return each if reduction == "none" else each.mean() if reduction == "mean" else each.sum()


def counts(input, weights=None, minlength=0):
    """torch.bincount, whose result is as long as the data say. Here it has `minlength` counts, and no number beyond is counted."""
    if not minlength:
        return BINCOUNT(input, weights, minlength)
    each = input.unsqueeze(-1) == torch.arange(minlength, device=input.device)
    return each.sum(0) if weights is None else (each * weights.unsqueeze(-1)).sum(0)


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """F.scaled_dot_product_attention of any number of dimensions. ONNX has that of [batch, heads, positions, features] alone:
    without heads there is one, and what stands before the heads is a batch. Operands that broadcast stay as they are."""
    def call(query, key, value, mask):
        return ATTENTION(query, key, value, mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

    before = query.shape[:-2]
    if query.dim() == 4 or not before == key.shape[:-2] == value.shape[:-2]:
        return call(query, key, value, attn_mask)
    if query.dim() == 3:
        mask = attn_mask.unsqueeze(1) if attn_mask is not None and attn_mask.dim() == 3 else attn_mask
        return call(query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1), mask).squeeze(1)
    if attn_mask is not None and attn_mask.dim() > 3:
        attn_mask = attn_mask.expand(*before, *attn_mask.shape[-2:]).flatten(0, -4)
    result = call(query.flatten(0, -4), key.flatten(0, -4), value.flatten(0, -4), attn_mask)
    return result.unflatten(0, before[:-1])


def is_told_causal(mask, is_causal=None, size=None):
    """Whether the user says that the mask of nn.Transformer is causal. Where nobody does, PyTorch looks at the mask, to call a
    faster kernel with the same result: no trace knows, and dtcc finds the causal ones itself."""
    return is_causal is True


def counted(*ends, **options):
    """torch.arange, which knows its numbers where its ends are no sizes: MONAI's losses list their axes so."""
    result = ARANGE(*ends, **options)
    if not options and all(type(end) is int for end in ends):
        result.listed = list(range(*ends)), result._version
    return result


def filled_diagonal(self, fill_value, wrap=False):
    """Tensor.fill_diagonal_ of a matrix, which PyTorch writes through strides that ONNX does not have."""
    if self.dim() != 2 or wrap:
        return FILL_DIAGONAL(self, fill_value, wrap)
    rows, columns = (torch.arange(size, device=self.device) for size in self.shape)
    return self.masked_fill_(rows[:, None] == columns, fill_value)


def listing(tolist):
    """The form of a `tolist`, which no trace knows but for numbers of torch.arange that nobody has changed."""
    def listed(self):
        numbers, version = getattr(self, "listed", (None, None))
        return list(numbers) if numbers is not None and version == self._version else tolist(self)
    return listed


class GroupedRows(Exception):
    """A trace meets rows that are grouped by experts, and is to begin again within UnsortedExperts."""


def rows_of_groups(*operands, **options):
    if not UnsortedExperts.active:
        raise GroupedRows()
    return UnsortedExperts.active[-1].multiply(*operands, **options)


def entered(region):
    """torch.autocast.__enter__, where it would switch off what is off already: the region is none. In the trace it would be one, and
    lose no_grad() inside."""
    still = not region._enabled and not torch.is_autocast_enabled(region.device)
    region.__dict__.setdefault("left_out", []).append(still)
    return region if still else ENTER(region)


def left(region, *error):
    return False if region.left_out.pop() else LEAVE(region, *error)


ENTER, LEAVE = torch.autocast.__enter__, torch.autocast.__exit__
GROUPED = [(owner, name) for owner, name in ((torch, "_grouped_mm"), (functional, "grouped_mm")) if hasattr(owner, name)]
ARANGE, FILL_DIAGONAL = torch.arange, torch.Tensor.fill_diagonal_
BINARY_CROSS_ENTROPY, BINCOUNT, ATTENTION = functional.binary_cross_entropy, torch.bincount, functional.scaled_dot_product_attention
# (owner, name) -> the form of a function of PyTorch that looks at its operands' values, which no trace has, or its refusal;
# or of one that ONNX has for some shapes alone.
FUNCTIONS = {(functional, "gaussian_nll_loss"): gaussian_loss, (functional, "binary_cross_entropy"): probability_loss,
             (functional, "scaled_dot_product_attention"): attention,
             (torch.autocast, "__enter__"): entered, (torch.autocast, "__exit__"): left,
             **{grouped: rows_of_groups for grouped in GROUPED},
             (torch, "arange"): counted, (torch.Tensor, "fill_diagonal_"): filled_diagonal,
             **{(owner, "tolist"): listing(owner.tolist) for owner in (torch.Tensor, FakeTensor, FunctionalTensor)},
             (torch.nn.modules.transformer, "_detect_is_causal_mask"): is_told_causal,
             **{(owner, name): form for owner in (torch, torch.Tensor)
                for name, form in (("cov", formulas.covariance), ("corrcoef", formulas.correlation), ("bincount", counts))}}


@contextlib.contextmanager
def traceable_functions():
    """While a module is traced, functions are computed by the forms of FUNCTIONS."""
    with contextlib.ExitStack() as replaced:
        for (owner, name), form in FUNCTIONS.items():
            replaced.enter_context(mock.patch.object(owner, name, form))
        yield


@functools.cache
def checks_of(file):
    """(first line, last line, the truth that goes on) of the conditions of `assert` and of `if` with nothing but `raise` behind it."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    checks = [(node.test, True) for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    checks += [(node.test, False) for node in ast.walk(tree) if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)]
    # Where a part is turned, its truth is not that of the whole.
    return [(test.lineno, test.end_lineno, truth) for test, truth in checks
            if not any(isinstance(part, (ast.Not, ast.IfExp, ast.Lambda)) for part in ast.walk(test))]


@contextlib.contextmanager
def known_truths(module):
    """While a module is traced, a buffer of one cell that Python asks for its truth (`if self.ready:`) has the module's. What a
    check asks (`if labels.max() > 9: raise ..`) has the truth with which forward goes on, as it did on the example. Gives the names
    of the buffers that were asked, which forward must not change."""
    truths = {name: bool(buffer) for name, buffer in module.named_buffers() if buffer.numel() == 1 and not buffer.is_meta}
    asked, truth = set(), torch.Tensor.__bool__

    def known(self):
        for name, buffer in module.named_buffers():
            if buffer is self and name in truths:
                asked.add(name)
                return truths[name]
        frame = sys._getframe(1)
        if isinstance(self, (FakeTensor, FunctionalTensor)) and self.numel() == 1:
            for first, last, goes_on in checks_of(frame.f_code.co_filename):
                if first <= frame.f_lineno <= last:
                    return goes_on
        return truth(self)
    with mock.patch.object(torch.Tensor, "__bool__", known):
        yield asked


class UnsortedExperts(TorchFunctionMode):
    """While a module is traced, products of groups of rows (grouped_mm) take each row's own matrix, from which dtcc recovers the
    layer of experts. Rows are grouped by a sort of numbers of experts, and their results are added up where they came from, which
    is the same in any order: so no row is moved, and `order // picks`, the token of each row, is `picks` rows a token. Where
    something else depends on the order, trace and module differ on the example."""
    SORTS = {torch.sort: 0, torch.Tensor.sort: 0, torch.argsort: 1, torch.Tensor.argsort: 1}
    QUOTIENTS = {torch.Tensor.__floordiv__, torch.floor_divide, torch.Tensor.floor_divide}
    VIEWS = {torch.Tensor.reshape, torch.reshape, torch.Tensor.view, torch.Tensor.unsqueeze, torch.unsqueeze, torch.Tensor.expand}
    READS = {torch.gather, torch.Tensor.gather, torch.index_select, torch.Tensor.index_select}
    SUMS = {torch.scatter_add, torch.Tensor.scatter_add, torch.Tensor.scatter_add_, torch.index_add, torch.Tensor.index_add,
            torch.Tensor.index_add_}

    active = []

    def __init__(self):
        super().__init__()
        self.numbers, self.is_used = None, True
        self.orders, self.tokens = [], []  # tokens: (the token of each row, rows a token)

    def __enter__(self):
        self.active.append(self)
        return super().__enter__()

    def __exit__(self, kind, *error):
        self.active.pop()
        super().__exit__(kind, *error)
        if kind is None:
            self.check_use()

    def check_use(self):
        if not self.is_used:
            raise ExportError("forward calls grouped_mm, and sorts a vector of integers by which no grouped_mm groups its rows: the "
                              "export leaves sorts of experts' numbers out, and cannot tell them from others")

    def picks_of(self, places):
        return next((picks for each, picks in self.tokens if each is places), 0)

    def sort(self, numbers, dim=-1, descending=False, stable=False):
        if any(numbers is order for order in self.orders):  # the way back
            return torch.return_types.sort((numbers, numbers))
        self.check_use()
        self.numbers, self.is_used = numbers, False
        self.orders.append(torch.arange(numbers.shape[0], device=numbers.device))
        return torch.return_types.sort((numbers, self.orders[-1]))

    def multiply(self, rows, matrices, offs=None, bias=None, out_dtype=None):
        if offs is None or self.numbers is None or rows.dim() != 2 or matrices.dim() != 3:
            raise ExportError("grouped_mm is exported for rows that a sort of a vector of integers, the experts' numbers, has grouped, "
                              "and one matrix for each expert: write this product by torch.bmm")
        self.is_used = True
        result = torch.bmm(rows.unsqueeze(1), matrices[self.numbers]).squeeze(1)
        result = result if bias is None else result + bias[self.numbers]
        return result if out_dtype is None else result.to(out_dtype)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in self.SORTS and args[0].dim() == 1 and not args[0].is_floating_point() and not kwargs.get("descending"):
            return self.sort(*args, **kwargs)[self.SORTS[function] or slice(None)]
        if function in self.READS:
            x, dim, places = [*args, *(kwargs[name] for name in ("dim", "index") if name in kwargs)][:3]
            if dim == 0 and (picks := self.picks_of(places)):
                return x.repeat_interleave(picks, 0)
        if function is torch.Tensor.__getitem__ and (picks := self.picks_of(args[1])):
            return args[0].repeat_interleave(picks, 0)
        if function in self.SUMS:
            x, dim, places, rows = [*args, *(kwargs[name] for name in ("dim", "index", "src", "source") if name in kwargs)][:4]
            if dim == 0 and "alpha" not in kwargs and (picks := self.picks_of(places)):
                sums = rows.unflatten(0, (-1, picks)).sum(1)
                return x.add_(sums) if function.__name__.endswith("_") else x + sums
        result = function(*args, **kwargs)
        if function in self.QUOTIENTS and type(args[1]) is int and any(args[0] is order for order in self.orders):
            self.tokens.append((result, args[1]))
        elif (function in self.VIEWS or function is torch.Tensor.__getitem__) and (picks := self.picks_of(args[0])) and \
                result.shape[0] == args[0].shape[0]:
            self.tokens.append((result, picks))
        return result


def from_copies(layer):
    """A recurrent layer that starts from copies: a loop wants states that lie as its body leaves them, and an expanded
    parameter does not."""
    def written(x, starts, *rest):
        copy = functools.partial(torch.clone, memory_format=torch.contiguous_format)
        return layer(x, [copy(start) for start in starts] if isinstance(starts, (list, tuple)) else copy(starts), *rest)
    return written


def sized_rnn(x, start, parameters, has_biases, layers, dropout, train, bidirectional, batch_first):
    """Results of the sizes of an RNN's, which the trace alone needs: the layer itself stays in it."""
    return x.new_empty((*x.shape[:2], start.shape[2] * (2 if bidirectional else 1))), torch.empty_like(start)


@contextlib.contextmanager
def open_lengths():
    """While a module is traced, recurrent layers take any number of steps: LSTM and GRU as loops, RNN by its results' sizes."""
    layers = {aten.lstm.input: from_copies(_patches.lstm_while_loop_impl),
              aten.gru.input: from_copies(_patches.gru_while_loop_impl),
              aten.rnn_tanh.input: sized_rnn, aten.rnn_relu.input: sized_rnn}
    with contextlib.ExitStack() as registered:
        for layer, form in layers.items():
            registered.enter_context(_patches._register_rnn_while_loop_decomposition(layer, form))
            registered.callback(layer._dispatch_cache.clear)  # a trace that fails must leave no form of this module
            layer._dispatch_cache.clear()  # else the form that an earlier trace has used stays
        yield


def with_plain_attention(module, trace):
    """What trace() returns; where it fails under fused attention, it is tried again with plain forms of attention.

    PyTorch's plain kernel comes first: a fused one may lay out its result in another way than its decomposition does, as with
    a mask that requires a gradient, and views of the result then fail. transformers' own plain form is the last one tried.
    """
    try:
        return trace()
    except Exception as first:  # noqa: BLE001 - the exporter wraps every error in one of its own
        try:
            with sdpa_kernel(SDPBackend.MATH):
                return trace()
        except Exception:  # noqa: BLE001
            fused = getattr(getattr(module, "config", None), "_attn_implementation", None) == "sdpa"
            if fused and hasattr(module, "set_attn_implementation"):
                with chosen(module, "set_attn_implementation", "_attn_implementation", "eager"):
                    try:
                        return trace()
                    except Exception:  # noqa: BLE001
                        pass
        # The form that the user chose is the one to speak of.
        raise first  # "from None" would drop its cause, which names the call


def flexible(query, key, value, score_mod, block_mask, scale, options):
    """What the kernel of flex_attention computes: the result, the logarithms of its sums to base 2, and the greatest scores.

    The functions of the user's are of one score. A trace calls them with all scores at once, whose places have dimensions of size 1:
    few calls, in a form of attention that dtcc recovers. Outside of a trace PyTorch's vmap calls them, so a function that is none of
    single scores is found when trace and module are compared.
    """
    mask, score, heads = block_mask[-1], score_mod, query.shape[1] // key.shape[1]
    is_masked, is_scored = mask is not flex.noop_mask, score is not flex._identity
    places = [torch.arange(size, device=query.device) for size in (*query.shape[:3], key.shape[2])]
    if isinstance(query, (FakeTensor, FunctionalTensor)):
        places = [place.view([-1 if axis == own else 1 for own in range(4)]) for axis, place in enumerate(places)]
    else:
        for axis in range(3, -1, -1):
            dims = [0 if own == axis else None for own in range(4)]
            mask, score = torch.vmap(mask, tuple(dims)), torch.vmap(score, (0, *dims))
    seen = mask(*places) if is_masked else None
    every_key, every_value = (x if heads == 1 else x.repeat_interleave(heads, 1) for x in (key, value))
    products = query @ every_key.transpose(-2, -1) * scale
    scores = score(products, *places)
    if scores.shape != products.shape:
        raise ExportError("the score_mod of a flex_attention reads more than one score, and is exported for all at once: write this "
                          "attention by products and a softmax")
    if is_masked:
        scores = torch.where(seen, scores, -math.inf)
    if is_scored:
        shares = scores.softmax(-1)
        result = torch.where(shares.isnan(), 0, shares) @ every_value  # 0 for a query without keys
    else:
        result = functional.scaled_dot_product_attention(query, key, value, seen, scale=scale, enable_gqa=heads != 1)
    return result, scores.logsumexp(-1) / math.log(2), scores.amax(-1)


def compiled_control_flow(*operands, **options):
    """A loop or a branch of PyTorch's operators (while_loop, cond), which a trace reads by compiling it, whatever else is compiled."""
    with torch.compiler.set_stance("default"):
        return CONTROL_FLOW(*operands, **options)


@contextlib.contextmanager
def plain_flex_attention():
    """Within it, flex_attention is computed by operators, which PyTorch's kernels for GPUs leave to a compiler, and functions that
    torch.compile has compiled, as nearly all calls of it are, run as they are written."""
    with contextlib.ExitStack() as replaced:
        for name, form in (("flex_attention_hop", flexible), ("_validate_device", lambda *_: None),
                           ("_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)):
            replaced.enter_context(mock.patch.object(flex, name, form))
        replaced.enter_context(mock.patch.object(higher_order, "_hop_compile_and_call", compiled_control_flow))
        replaced.enter_context(torch.compiler.set_stance("force_eager"))
        yield
