# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models that tell by their losses which samples they are trained on, as ONNX and in numpy.

The logits of each model are linear in its parameters that train: features times parameters. A model has no output but the logits,
and the loss is a cross entropy of dtcc's. One model has attention, whose parameters are frozen.
"""
import dataclasses
import math

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

VOCABULARY, CLASSES, IGNORED, WIDTH, HEADS, TAGS = 11, 5, -100, 6, 2, 13


def parameter(seed, *shape):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float32)


@dataclasses.dataclass
class Model:
    name: str
    inputs: dict  # type and shape of each by its name
    parameters: dict
    reads_tokens: bool = True
    shifts: bool = False  # it compares each token with the label behind
    is_label: bool = False  # its tokens are its labels
    masks: bool = False  # it attends within documents
    sizes: object = None  # rows of a step by input, where they are not the batch for all
    beside: tuple = ()  # inputs that --tokens does not fill

    is_whole = property(lambda self: self.reads_tokens and self.inputs.get("labels", TOKENS["labels"])[1] == ["batch"])

    def options(self, batch, length):
        bind = f"--bind=batch={batch}" + (f",length={length}" if self.reads_tokens else "") + \
            (f",edges={self.sizes(batch)['edges']}" if self.sizes else "")
        labels = "ids" if self.is_label else "labels"
        words = [bind, f"--loss=cross_entropy:logits=logits,labels={labels},axis=-1,ignore_index={IGNORED}" + ",shift=1" * self.shifts]
        words += ["--mask-documents"] * self.masks
        return words + (["--trainable=head"] if "head" in self.parameters else [])

    def write(self, path, length):
        nodes, constants = [], {}

        def node(kind, operands, result, **attributes):
            nodes.append(helper.make_node(kind, operands, [result], name=result, **attributes))
            return result

        def constant(name, cells):
            nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(numpy.array(cells), name)))
            return name

        if "head" in self.parameters:
            node("Gather", ["embedding", "ids"], "embedded")
            node("Range", [constant("first", 0), constant("end", length), constant("step", 1)], "range")
            node("Gather", ["places", "range"], "placed")
            node("Add", ["embedded", "placed"], "x")
            for name in ("query", "key", "value"):
                node("MatMul", ["x", name], name + "_rows")
                node("Reshape", [name + "_rows", constant(name + "_shape", [0, 0, HEADS, WIDTH // HEADS])], name + "_of_heads")
                node("Transpose", [name + "_of_heads"], name + "s", perm=[0, 2, 3, 1] if name == "key" else [0, 2, 1, 3])
            node("MatMul", ["querys", "keys"], "products")
            node("Mul", ["products", constant("scale", numpy.float32(math.sqrt(HEADS / WIDTH)))], "scores")
            node("Where", [constant("causal", numpy.tril(numpy.ones([length, length], bool))), "scores",
                           constant("least", numpy.float32(-numpy.inf))], "masked")
            node("Softmax", ["masked"], "probabilities", axis=-1)
            node("MatMul", ["probabilities", "values"], "of_heads")
            node("Transpose", ["of_heads"], "turned", perm=[0, 2, 1, 3])
            node("Reshape", ["turned", constant("joined", [0, 0, WIDTH])], "mixed")
            node("Add", ["x", "mixed"], "features")
            node("MatMul", ["features", "head"], "logits")
        elif self.reads_tokens:
            second = next((name for name in ("position_ids", "tags") if name in self.inputs), None)
            whole = node("Gather", ["embedding", "ids"], "embedded" if second or self.is_whole else "logits")
            if second:
                node("Gather", ["places", second], "placed")
                node("Add", ["embedded", "placed"], "logits")
            if self.is_whole:
                node("ReduceMean", [whole, constant("axis", [1])], "logits", keepdims=0)
        else:
            constant("row", [1, -1])
            node("Reshape", ["x", constant("flat", [0, 6])], "flat_x")
            terms = [node("MatMul", ["flat_x", "of_x"], "from_x"), node("Gather", ["of_kind", "kind"], "from_kind")]
            if self.sizes:
                node("ReduceMean", ["edges", constant("first", [0])], "mean_edge", keepdims=1)
                terms.append(node("MatMul", ["mean_edge", "of_edges"], "from_edges"))
            else:
                node("Cast", ["flags"], "flags_f", to=TensorProto.FLOAT)
                terms.append(node("MatMul", ["flags_f", "of_flags"], "from_flags"))
                node("Cast", ["count"], "count_f", to=TensorProto.FLOAT)
                node("Unsqueeze", ["count_f", constant("last", [1])], "counts")
                terms.append(node("MatMul", ["counts", "of_count"], "from_count"))
            while len(terms) > 1:
                a, b = terms.pop(), terms.pop()
                terms.append(node("Add", [a, b], f"sum_{len(terms)}" if terms else "logits"))
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numpy.dtype(kind)), shape)
                  for name, (kind, shape) in self.inputs.items()]
        logits = ["batch", "length", VOCABULARY] if self.reads_tokens and not self.is_whole else ["batch", CLASSES]
        graph = helper.make_graph(nodes, self.name, inputs, [helper.make_tensor_value_info("logits", TensorProto.FLOAT, logits)],
                                  [numpy_helper.from_array(cells, name) for name, cells in self.parameters.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)

    def cells(self, draw, count, batch, length):
        """Arrays of random samples."""
        if self.reads_tokens:
            ids, labels = draw.integers(0, VOCABULARY, [count, length]), draw.integers(0, VOCABULARY, [count, length])
            labels[draw.random(labels.shape) < 0.3] = IGNORED
            labels[:, -1] = ids[:, -1]
            cells = {"ids": ids, "labels": labels, "position_ids": draw.integers(0, length, [count, length]),
                     "tags": draw.integers(0, TAGS, [count, length])}
            if self.is_whole:
                cells["labels"] = draw.integers(0, CLASSES, count)
            return {name: each for name, each in cells.items() if name in self.inputs}
        x = draw.integers(-400, 400, [count, 2, 3]).astype(numpy.float32) / 128
        cells = {"x": x, "kind": draw.integers(0, 7, count).astype(numpy.int32), "labels": draw.integers(0, CLASSES, count)}
        cells["labels"][1:][draw.random(count - 1) < 0.1] = IGNORED
        if not self.sizes:
            return {**cells, "flags": draw.random([count, 2]) < 0.5, "count": draw.integers(0, 5, count)}
        rows = self.sizes(batch)["edges"] * (count // batch) + int(draw.integers(0, self.sizes(batch)["edges"]))
        return {**cells, "edges": draw.integers(-400, 400, [rows, 3]).astype(numpy.float32) / 128}

    def features(self, batch):
        """Features of each parameter that trains: indices of rows, or cells that are multiplied."""
        if "head" in self.parameters:
            held = {name: cells.astype(numpy.float64) for name, cells in self.parameters.items()}
            x = held["embedding"][batch["ids"]] + held["places"][batch["position_ids"] if self.masks else numpy.arange(batch["ids"].shape[1])]
            q, k, v = ((x @ held[name]).reshape(*x.shape[:2], HEADS, -1).swapaxes(1, 2) for name in ("query", "key", "value"))
            scores = q @ k.swapaxes(2, 3) * math.sqrt(HEADS / WIDTH)
            sees = numpy.tril(numpy.ones(scores.shape[2:], bool))
            if self.masks:
                sees = sees & (batch["documents"][:, None, :, None] == batch["documents"][:, None, None, :])
            powers = numpy.where(sees, numpy.exp(scores - scores.max(-1, keepdims=True)), 0)
            mixed = powers / powers.sum(-1, keepdims=True) @ v
            return {"head": x + mixed.swapaxes(1, 2).reshape(x.shape)}
        if self.reads_tokens:
            if self.is_whole:
                return {"embedding": numpy.eye(VOCABULARY)[batch["ids"].astype(int)].mean(1)}
            found = {"embedding": batch["ids"], "places": batch["tags"] if "tags" in batch else batch["position_ids"]}
            return {name: cells.astype(int) for name, cells in found.items() if name in self.parameters}
        found = {"of_x": batch["x"].reshape(-1, 6), "of_kind": batch["kind"].astype(int)}
        if self.sizes:
            edge = batch["edges"].astype(numpy.float64).mean(0, keepdims=True)
            return {**found, "of_edges": numpy.repeat(edge, len(batch["x"]), 0)}
        return {**found, "of_flags": batch["flags"].astype(bool), "of_count": batch["count"][:, None] + 0.0}


def evaluate(model, held, batch):
    """The sum of the losses of a batch, the number of labels that count, how many of them the greatest logit names, and the
    slopes of the sum."""
    features = {name: cells if cells.dtype == int else cells.astype(numpy.float64) for name, cells in model.features(batch).items()}
    logits = sum(held[name][cells] if cells.dtype == int else cells @ held[name] for name, cells in features.items())
    labels = batch["ids" if model.is_label else "labels"].astype(int)
    if model.shifts:
        labels = numpy.concatenate([labels[:, 1:], numpy.full_like(labels[:, :1], IGNORED)], 1)
    counts = labels != IGNORED
    logits = logits - logits.max(-1, keepdims=True)
    powers = numpy.exp(logits)
    wanted = numpy.where(counts, labels, 0)[..., None]
    losses = numpy.log(powers.sum(-1)) - numpy.take_along_axis(logits, wanted, -1)[..., 0]
    slope = powers / powers.sum(-1, keepdims=True)
    numpy.put_along_axis(slope, wanted, numpy.take_along_axis(slope, wanted, -1) - 1, -1)
    slope *= counts[..., None]
    slopes = {}
    for name, cells in features.items():
        if cells.dtype == int:
            slopes[name] = numpy.zeros_like(held[name])
            numpy.add.at(slopes[name], cells, slope)
        else:
            slopes[name] = cells.reshape(-1, cells.shape[-1]).T @ slope.reshape(-1, slope.shape[-1])
    hits = (logits.argmax(-1) == labels)[counts].sum()
    return (losses * counts).sum(), counts.sum(), hits, slopes


TOKENS = {"ids": ("int64", ["batch", "length"]), "labels": ("int64", ["batch", "length"])}
BIGRAM = {"embedding": parameter(1, VOCABULARY, VOCABULARY)}
PLACED = {**BIGRAM, "places": parameter(2, 8, VOCABULARY)}
ATTENTION = {"embedding": parameter(3, VOCABULARY, WIDTH), "places": parameter(4, 8, WIDTH), "query": parameter(5, WIDTH, WIDTH),
             "key": parameter(6, WIDTH, WIDTH), "value": parameter(7, WIDTH, WIDTH), "head": parameter(8, WIDTH, VOCABULARY)}
ROWS = {"x": ("float32", ["batch", 2, 3]), "kind": ("int32", ["batch"]), "labels": ("int64", ["batch"])}
LINEAR = {"of_x": parameter(9, 6, CLASSES), "of_kind": parameter(10, 7, CLASSES)}
POSITIONS = {**TOKENS, "position_ids": ("int64", ["batch", "length"])}
MODELS = {model.name: model for model in [
    Model("bigram", TOKENS, BIGRAM),
    Model("bigram-inside", TOKENS, BIGRAM, shifts=True),
    Model("bigram-one", {"ids": TOKENS["ids"]}, BIGRAM, shifts=True, is_label=True),
    Model("placed", POSITIONS, PLACED),
    Model("placed-inside", POSITIONS, PLACED, shifts=True),
    Model("tagged", {**TOKENS, "tags": TOKENS["ids"]}, {**BIGRAM, "places": parameter(14, TAGS, VOCABULARY)}, beside=("tags",)),
    Model("texts", {"ids": TOKENS["ids"], "labels": ("int64", ["batch"])}, {"embedding": parameter(15, VOCABULARY, CLASSES)},
          beside=("labels",)),
    Model("attention", TOKENS, ATTENTION),
    Model("attention-masked", TOKENS, ATTENTION, masks=True),
    Model("attention-masked-inside", TOKENS, ATTENTION, masks=True, shifts=True),
    Model("rows", {**ROWS, "flags": ("bool", ["batch", 2]), "count": ("int64", ["batch"])},
          {**LINEAR, "of_flags": parameter(11, 2, CLASSES), "of_count": parameter(12, 1, CLASSES)}, reads_tokens=False),
    Model("edges", {**ROWS, "edges": ("float32", ["edges", 3])}, {**LINEAR, "of_edges": parameter(13, 3, CLASSES)},
          reads_tokens=False, sizes=lambda batch: {"x": batch, "kind": batch, "labels": batch, "edges": 2 * batch + 1}),
]}
