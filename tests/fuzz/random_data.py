# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random data of training: the files and options of a run, and the batches that docs/data.md makes of them, read by numpy.

`draw` makes the run of a seed: a model of data_models.py, files of tokens or arrays, their order, documents, evaluations, and the
plans that train it one after the other. A seed always gives the same run.
"""
import dataclasses
import fractions
import functools
import itertools
import math
import os
import random
import re

import numpy

from data_models import CLASSES, IGNORED, MODELS, VOCABULARY

PLANS = ["dp=1", "dp=2", "dp=3", "dp=4", "dp=1 --microbatches=2", "dp=2 --microbatches=2 --zero=1", "dp=2 --zero=3", "dp=2x2 --zero=2",
         "tp=2", "dp=2,tp=2", "cp=2", "cp=2 --cp-order=contiguous", "dp=2,cp=2 --microbatches=2", "tp=2 --microbatches=2",
         "worlds 1", "worlds 2", "worlds 4"]


# The order of samples, as docs/data.md has it. Its random numbers are those of runtime/core/Philox.h.
def philox(counter, key):
    k0, k1 = key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [b >> 32 ^ counter[1] ^ k0, b & 0xFFFFFFFF, a >> 32 ^ counter[3] ^ k1, a & 0xFFFFFFFF]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return counter


@functools.lru_cache(maxsize=None)
def shuffled(count, seed, epoch):
    """The samples 0 to count - 1 in the order of an epoch."""
    half = 1
    while 1 << 2 * half < count:
        half += 1
    order = []
    for value in range(count):
        while True:
            left, right = value >> half, value & (1 << half) - 1
            for turn in range(6):
                word = philox([right, turn, epoch & 0xFFFFFFFF, epoch >> 32], seed)[0]
                left, right = right, left ^ word & (1 << half) - 1
            value = left << half | right
            if value < count:
                break
        order.append(value)
    assert sorted(order) == list(range(count))
    return order


@functools.lru_cache(maxsize=None)
def turns_of(weights):
    """The part of each turn of a period of at most 10,000, whose shares are exact, and evenly spread."""
    weights = [fractions.Fraction(weight) for weight in weights]
    exact = [10000 * weight / sum(weights) for weight in weights]
    shares = [math.floor(each) for each in exact]
    order = sorted(range(len(exact)), key=lambda i: shares[i] - exact[i])
    for i in order[:10000 - sum(shares)]:
        shares[i] += 1
    shares = [share // math.gcd(*shares) for share in shares]
    given, turns = [0] * len(shares), []
    for turn in range(1, sum(shares) + 1):
        part = max(range(len(shares)), key=lambda i: (turn * shares[i] - given[i] * sum(shares), -i))
        given[part] += 1
        turns.append(part)
    return turns


@dataclasses.dataclass
class Part:
    """Samples of a source, of a mixture if they have a weight."""
    samples: list
    weight: str = ""


class Order:
    """The endless order of samples in batches. Without a batch, samples are whole steps."""

    def __init__(self, parts, batch, seed=None):
        self.parts, self.batch, self.seed, self.size = parts, batch, seed, batch or 1
        self.all = [sample for part in parts for sample in part.samples]
        self.steps = len(self.all) // self.size  # of an epoch

    def with_batch(self, batch):
        return Order(self.parts, batch if self.batch else 0, self.seed)

    def at(self, position):
        """The sample at a position of the run."""
        if not self.parts[0].weight:
            epoch, place = divmod(position, self.steps * self.size)
            return self.all[place if self.seed is None else shuffled(len(self.all), self.seed, epoch)[place]]
        turns = turns_of(tuple(part.weight for part in self.parts))
        period, turn = divmod(position, len(turns))
        number, part = turns[turn], self.parts[turns[turn]]
        before = period * turns.count(number) + turns[:turn].count(number)
        epoch, place = divmod(before, len(part.samples))
        if self.seed is not None:
            place = shuffled(len(part.samples), (self.seed + number * 0x9E3779B97F4A7C15) % 2 ** 64, epoch)[place]
        return part.samples[place]

    def batch_from(self, position):
        """The samples of a step that begins at a position, stacked; or the whole step that lies there."""
        return stacked([self.at(position + i) for i in range(self.batch)]) if self.batch else self.at(position)


def stacked(samples):
    return {name: numpy.stack([sample[name] for sample in samples]) for name in samples[0]}


def held_out(parts, fraction):
    """Parts to train on, and one to evaluate: the last samples of each."""
    kept, held = [], []
    for part in parts:
        count = len(part.samples) - math.ceil(len(part.samples) * fractions.Fraction(fraction))
        kept.append(Part(part.samples[:count], part.weight))
        held += part.samples[count:]
    return kept, [Part(held)]


@dataclasses.dataclass
class Mark:
    """The token that ends each document, or begins each."""
    option: str
    token: int
    starts: bool  # windows start at documents

    def words(self):
        return [f"--{self.option}={self.token}", *["--documents=start"] * self.starts]

    def documents(self, tokens):
        """The documents of a file. The first token of the next one belongs to a document if marks begin them."""
        places = [i for i, token in enumerate(tokens) if token == self.token]
        if self.option == "eos":
            begins = [0, *[i + 1 for i in places]]
            return [tokens[a:b] for a, b in zip(begins, [*begins[1:], len(tokens)])]
        begins = sorted({0, *places})
        return [tokens[a:b + 1] for a, b in zip(begins, [*begins[1:], len(tokens)])]

    def numbers(self, ids):
        """The document of each token of a window, from 0."""
        ends = numpy.array(ids) == self.token
        before = ends if self.option == "bos" else numpy.roll(ends, 1)
        return numpy.cumsum([False, *before[1:]])


def sample_of(ids, labels, mark):
    numbers = mark.numbers(ids) if mark else numpy.zeros(len(ids), int)
    firsts = numpy.searchsorted(numbers, numbers)
    return {"ids": numpy.array(ids), "labels": numpy.array(labels), "documents": numbers,
            "position_ids": numpy.arange(len(ids)) - firsts}


def windows_of(tokens, length, shift, mark):
    """The samples of a file of tokens. `shift`: how far labels lie behind their tokens."""
    if not mark or not mark.starts:
        for begin in range(0, (len(tokens) - shift) // length * length, length):
            yield sample_of(tokens[begin:begin + length], tokens[begin + shift:begin + shift + length], mark)
        return
    for document in mark.documents(tokens):
        for begin in range(0, len(document) - 1, length):
            ids, labels = document[begin:begin + length], document[begin + shift:begin + shift + length]
            yield sample_of([*ids, *[mark.token] * (length - len(ids))], [*labels, *[IGNORED] * (length - len(labels))], mark)


# Files of tokens: the ending of their names, what stands behind a name on the command line, and their type.
FORMS = {"npy-u8": (".npy", "", "u1"), "npy-u16": (".npy", "", "<u2"), "npy-i16": (".npy", "", "<i2"), "npy-i8": (".npy", "", "i1"),
         "npy-i32": (".npy", "", "<i4"), "npy-u32": (".npy", "", "<u4"), "npy-i64": (".npy", "", "<i8"), "llmc-16": (".bin", "", "<u2"),
         "llmc-32": (".bin", "", "<u4"), "nano": (".bin", "", "<u2"), "raw-u8": ("", ":u8", "u1"), "raw-u16": (".dat", ":u16", "<u2"),
         "raw-u32": (".bin", ":u32", "<u4")}


def write_tokens(path, form, tokens):
    cells = numpy.array(tokens, FORMS[form][2])
    if form.startswith("npy"):
        with open(path, "wb") as file:
            numpy.lib.format.write_array(file, cells, version=[(1, 0), (2, 0)][len(tokens) % 2])
        return
    with open(path, "wb") as file:
        if form.startswith("llmc"):
            magic, version = {"llmc-16": (20240520, 1), "llmc-32": (20240801, 7)}[form]
            header = numpy.zeros(256, "<i4")
            header[:3] = magic, version, len(tokens)
            file.write(header.tobytes())
        file.write(cells.tobytes())


class TokenFiles:
    """Files of tokens of an option, in parts."""

    def __init__(self, dice, option, folder, most):
        self.option, self.files, self.items, self.beside = option, [], [], None  # files: path, form, tokens; items: text, weight, files in order
        kinds = [[form for form in FORMS if form != "nano"], [form for form in FORMS if "llmc" not in form]][dice.random() < 0.3]
        mixed, groups = dice.random() < 0.35, dice.choice([1, 1, 2, 3])
        for number in range(groups):
            self.add_item(dice, f"{folder}{dice.choice(['', '@1'])}-{number}", kinds, mixed and groups > 1, most)

    def add_item(self, dice, folder, kinds, mixed, most):
        kind, weight = dice.choice(["file", "glob", "folder"]), dice.choice(["0.5", "1", "2", "0.07", "0.3", "1e1"]) if mixed else ""
        names = ["a"] if kind == "file" else dice.sample(["1", "10", "2", "b", "B", "ä"], dice.randint(1, 4))
        suffix = FORMS[dice.choice(kinds)][1]
        folder = folder.replace("@1", "") if suffix else folder  # Before ':' an '@' begins a weight.
        files = []
        for name in names:
            form = dice.choice([form for form in kinds if FORMS[form][1] == suffix])
            ending = "" if kind == "folder" and suffix else FORMS[form][0]
            tokens = [dice.randrange(VOCABULARY) for _ in range(dice.choice([dice.randint(0, 12), dice.randint(20, most)]))]
            files.append((f"{folder}/{name}{ending}", form, tokens))
        self.files += files
        text = {"file": files[0][0], "glob": f"{folder}/*", "folder": folder + dice.choice(["", "/"])}[kind]
        ordered = [tokens for _, _, tokens in sorted(files, key=lambda file: file[0].encode())]
        self.items.append((text + suffix, weight, ordered))

    def write(self, root):
        if self.beside:
            self.beside.write(root)
        for path, form, tokens in self.files:
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            write_tokens(os.path.join(root, path), form, tokens)
            with open(os.path.join(root, os.path.dirname(path), ".hidden.bin"), "wb") as file:
                file.write(b"no tokens")

    def words(self):
        """The option, with a list of items, or several times."""
        items = [text + f"@{weight}" * bool(weight) for text, weight, _ in self.items]
        words = [f"--{self.option}={item}" for item in items] if len(self.files) % 2 else [f"--{self.option}={','.join(items)}"]
        return words + (self.beside.words() if self.beside else [])

    def parts(self, length, shift, mark):
        parts = [Part([sample for tokens in files for sample in windows_of(tokens, length, shift, mark)], weight)
                 for _, weight, files in self.items]
        return parts if parts[0].weight else [Part([sample for part in parts for sample in part.samples])]


class Arrays:
    """Files of arrays of an option: in one folder, by name, or as shards."""
    # Types of files that inputs of a type take.
    TYPES = {"float32": ["<f4", "<f4", "<f8", "<f2", "<i4", "u1"], "int64": ["<i8", "<i4", "<i2", "<u2", "u1", "<u4"],
             "int32": ["<i4", "<i8", "u1", "<i2"], "bool": ["?", "?", "u1", "<i8"]}

    def __init__(self, dice, option, folder, cells):
        self.option, self.folder, self.cells, self.files, self.named = option, folder, cells, [], []
        for name, whole in cells.items():
            kind = dice.choice(["folder", "named", "shards", "glob", "named-folder"])
            fits = [code for code in self.TYPES[str(whole.dtype)] if not (whole.size and whole.min() < 0 and "u" in code)
                    and not (whole.dtype == numpy.float32 and code[-2] in "iu")]
            if kind in ("folder", "named"):
                path = f"{folder}/{name}.npy" if kind == "folder" else f"{folder}-{name}.npy"
                shape = dice.choice([whole.shape, (len(whole), -1), (len(whole), 1, *whole.shape[1:])]) if name == "x" else whole.shape
                self.files.append((path, whole.reshape(shape).astype(dice.choice(fits))))
                self.named += [f"{name}={path}"] if kind == "named" else []
                continue
            place = f"{folder}/{name}" if kind == "shards" else f"{folder}-{name}"
            cuts = sorted(dice.randint(0, len(whole)) for _ in range(dice.choice([1, 2])))
            for number, part in enumerate(numpy.split(whole, cuts)):
                self.files.append((f"{place}/{number}.npy", part.astype(dice.choice(fits))))
            self.named += [] if kind == "shards" else [f"{name}={place}" + ("/*.npy" if kind == "glob" else "")]

    def write(self, root):
        os.makedirs(os.path.join(root, self.folder), exist_ok=True)
        for path, cells in self.files:
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            numpy.save(os.path.join(root, path), cells)

    def words(self):
        return [f"--{self.option}={self.folder}", *[f"--{self.option}={each}" for each in self.named]]


@dataclasses.dataclass
class Drawn:
    seed: int
    model: object
    length: int
    plans: list  # one after the other
    batches: list  # of each plan
    stops: list  # the steps behind which the next plan goes on
    words: list  # options of the program
    sources: list  # what writes files
    order: Order
    evaluation: Order
    every: int  # steps between evaluations; 0: at the end alone
    most: int  # batches of an evaluation
    rate: float
    steps: int
    mpi: bool

    def __str__(self):
        return f"{self.model.name} of batches {self.batches}, length {self.length}, plans {' | '.join(self.plans)} from {self.stops}: " \
               f"{' '.join(self.words)}"


def samples_of(cells, mark=None):
    """The rows of arrays."""
    rows = [dict(zip(cells, row)) for row in zip(*cells.values())]
    for row in rows:
        if mark:
            row.update({name: value for name, value in sample_of(row["ids"], row["labels"], mark).items()
                        if name in ("documents", "position_ids")})
        elif "ids" in row and "position_ids" not in row:
            row["position_ids"] = numpy.arange(len(row["ids"]))
    return rows


def steps_of(cells, sizes):
    """Whole steps, of arrays whose files have different numbers of rows a step."""
    count = min(len(cells[name]) // sizes[name] for name in cells)
    return [{name: cells[name][step * sizes[name]:(step + 1) * sizes[name]] for name in cells} for step in range(count)]


def parts_of(plan):
    """The parts in which a plan splits a batch."""
    world = re.match(r"worlds (\d+)", plan)
    return 4 if world else math.prod(int(size) for size in re.findall(r"(?:dp=|(?<=\d)x|microbatches=)(\d+)", plan))


def draw(seed):
    """The run of a seed."""
    dice, numbers = random.Random(seed), numpy.random.default_rng(seed)

    def maybe(chance):
        return dice.random() < chance

    model = MODELS[dice.choice(list(MODELS))]
    batch, length = dice.choice([4, 4, 6, 8, 12]), dice.choice([4, 5, 8]) if model.reads_tokens else 1
    mark = None
    if model.reads_tokens and (model.masks or maybe(0.4)):
        starts = not model.is_label and not model.is_whole and maybe(0.6)
        if model.masks or starts or "position_ids" in model.inputs:
            mark = Mark(dice.choice(["eos", "bos"]), dice.randrange(VOCABULARY), starts)
    tokens = model.reads_tokens and (model.is_label or maybe(0.75))
    if not tokens and mark:
        mark.starts = False
        mark = mark if model.masks or "position_ids" in model.inputs else None

    def source(option, folder, most):
        """What writes files, and the parts of their samples."""
        if tokens:
            files = TokenFiles(dice, option + "tokens", folder, most * length)
            parts = files.parts(length, 0 if model.shifts or model.is_whole else 1, mark)
            if model.beside:
                cells = model.cells(numbers, sum(len(part.samples) for part in parts), batch, length)
                files.beside = Arrays(dice, option + "data", folder + "-beside", {name: cells[name] for name in model.beside})
                rows = iter(samples_of(files.beside.cells))
                for part in parts:
                    part.samples = [{**sample, **next(rows)} for sample in part.samples]
            return files, parts
        count = dice.randint(batch, most)
        cells = model.cells(numbers, count, batch, length)
        if mark:
            cells.pop("position_ids", None)
        arrays = Arrays(dice, option + "data", folder, cells)
        if model.sizes:
            return arrays, [Part(steps_of(arrays.cells, model.sizes(batch)))]
        return arrays, [Part(samples_of(arrays.cells, mark))]

    while True:
        train, parts = source("", "train", dice.choice([20, 40, 80]))
        held, kind = [], dice.choice(["", "", "fraction", "files"])
        words, sources = [], [train]
        if kind == "fraction":
            fraction = dice.choice(["0.1", "0.2", "0.25", "0.3", "0.5", "0.07"])
            parts, held = held_out(parts, fraction)
            words.append(f"--eval-fraction={fraction}")
        elif kind == "files":
            other, held = source("eval-", "held", 30)
            sources.append(other)
        unit = 0 if model.sizes else batch
        shuffle = dice.choice([None, dice.randint(0, 2 ** 63)])
        order, evaluation = Order(parts, unit, shuffle), Order(held, unit) if held else None
        batches = [order.batch_from(i * order.size) for i in range(3 * order.steps)] \
            if order.steps and all(part.samples or not part.weight for part in parts) else []
        if any(all((batch["ids" if model.is_label else "labels"] == IGNORED).flat) for batch in batches):
            continue  # No label counts.
        if order.steps and (not held or evaluation.steps) and all(part.samples or not part.weight for part in parts + held) \
                and (not mark or not tokens or any(mark.token in stream for _, _, stream in train.files)) \
                and (not mark or not tokens or kind != "files" or any(mark.token in stream for _, _, stream in other.files)):
            break
    words = [*itertools.chain(*(each.words() for each in sources)), *words, *(mark.words() if mark else [])]
    words += [] if shuffle is None else [f"--shuffle={shuffle}"]
    length_of_run = dice.choice(["steps", "epochs", ""])
    steps = {"steps": dice.randint(1, min(30, 3 * order.steps)), "epochs": order.steps * 2, "": order.steps}[length_of_run]
    if steps > 40:
        length_of_run, steps = "steps", 40
    words += {"steps": [f"--steps={steps}"], "epochs": ["--epochs=2"], "": []}[length_of_run]
    every = most = 0
    if held:
        every, most = dice.choice([0, 1, 3]), dice.choice([0, 0, 1, 2, 100])
        words += [f"--eval-every={every}"] * bool(every) + [f"--eval-steps={most}"] * bool(most) + ["--save-best=best.safetensors"]
    fits = [plan for plan in PLANS if batch % parts_of(plan) == 0 and (model.reads_tokens or "cp" not in plan)
            and not (model.sizes and parts_of(plan) > 1)]
    plans = [dice.choice(fits) for _ in range(3)]
    stops = sorted(dice.sample(range(1, steps), min(2, steps - 1)))
    batches = [batch] * (len(stops) + 1)
    if length_of_run == "steps" and order.batch and maybe(0.2):  # More samples of a step always have a label that counts.
        batches = sorted([batch, *(batch * dice.choice([1, 2, 3]) for _ in stops)])
        if not all(each.with_batch(batches[-1]).steps for each in (order, evaluation or order)):
            batches = [batch] * len(batches)
    return Drawn(seed, model, length, plans[:len(stops) + 1], batches, stops, words, sources, order, evaluation, every, most,
                 dice.choice([0.3, 0.05]), steps, maybe(0.1))
