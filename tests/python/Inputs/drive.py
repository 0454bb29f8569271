# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model file from Python: compiled, run, read. drive.py MODEL.onnx, in a folder of its own."""
import contextlib
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import warnings

import dtcc
from dtcc import errors, metrics, options, progress

MODEL = sys.argv[1]
for name in ("corpus.bin", "more.bin"):
    pathlib.Path(name).write_bytes(bytes(byte for i in range(2000) for byte in (i * 7 % 61, 0)))


def refused(kind, call, *parts):
    """The text of the exception that `call` must raise."""
    try:
        call()
    except kind as error:
        assert all(part in str(error) for part in parts), (str(error), parts)
        return error
    raise AssertionError(f"not refused: {parts}")


# Options are those of the command line.
assert options.words({"zero": 1, "mesh": {"dp": 2, "tp": 1}, "no_decay": ["a*", "b"], "verify": True, "tf32": False,
                      "clip": None, "weights": pathlib.Path("w")}) == \
    ["--zero=1", "--mesh=dp=2,tp=1", "--no-decay=a*", "--no-decay=b", "--verify", "--weights=w"]
refused(TypeError, lambda: options.words({"zero": object()}), "zero must be text, a number")

# One program, its plan in three forms.
program = dtcc.compile(MODEL, cluster="cpu:2", bind={"batch": 4, "seq": 16}, mesh={"dp": 2}, zero=1)
assert program.plan.facts["ranks"] == 2 and "ZeRO            1" in program.plan.text == str(program.plan)
page = program.plan._repr_html_()
assert page.startswith("<iframe srcdoc=") and "&lt;svg" in page and program.plan.html.startswith("<!DOCTYPE html>")
assert "training batch 4" in program.info

# A run: each row arrives while it trains, and equals what the command line writes.
seen = []
run = program.run(tokens="corpus.bin:u16", steps=5, lr=1e-2, progress=seen.append)
assert [row["step"] for row in run.metrics] == [1, 2, 3, 4, 5] and len(run.rows) == 7 and seen == run.rows, seen
assert (run.weights / "model.safetensors").is_file()
done = subprocess.run([program.path, "--tokens=corpus.bin:u16", "--steps=5", "--lr=1e-2", "--metrics=by-hand.jsonl"],
                      capture_output=True, check=True)
losses = [row["loss"] for row in metrics.read("by-hand.jsonl") if "loss" in row]
assert [row["loss"] for row in run.metrics] == losses and losses[-1] < losses[0]
assert "<th>loss</th>" in run._repr_html_() and f"{losses[0]:.6g}" in run._repr_html_()

# A run that fails gives what it had measured.
error = refused(dtcc.DtccError, lambda: program.run(tokens="corpus.bin:u16", steps=50, lr=1e30, progress=False), "finite")
assert error.status == 9 and error.rows[1]["loss"] == losses[0] and 1 < len(error.rows) < 52

# Notes are shown, warnings are Python's.
said = io.StringIO()
with contextlib.redirect_stderr(said):
    program.run(tokens=["corpus.bin:u16", "more.bin:u16"], steps=1, progress=False)
assert said.getvalue() == "note: --tokens: 4000 tokens in 2 files\n", said.getvalue()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    errors.pass_on("model.onnx: warning: one\nmemory: 3 MiB\nwarning: two\n")
assert [str(each.message) for each in caught] == ["model.onnx: one", "two"]

# Several files, an evaluation, a path of one's own.
run = program.run(tokens=["corpus.bin:u16", "more.bin:u16"], steps=4, eval_fraction=0.3, eval_every=2, progress=False,
                  metrics="mine.jsonl", save="mine.safetensors")
assert [row["step"] for row in run.evaluations] == [2, 4] and metrics.read("mine.jsonl") == run.rows
assert os.path.isfile("mine.safetensors")
try:
    import pandas  # noqa: F401
    assert list(run.frame()["eval_loss"].dropna()) == [row["eval_loss"] for row in run.evaluations]
except ImportError:
    refused(ImportError, run.frame, "pandas")

# Words before the program.
run = program.run(tokens="corpus.bin:u16", steps=1, progress=False, launcher=["env", "-u", "HOME"])
program.run(tokens="corpus.bin:u16", steps=1, progress=False, launcher="env -u HOME")
error = refused(dtcc.DtccError, lambda: program.run(tokens="corpus.bin:u16", launcher="nothere -n 2"), "cannot run nothere")
assert error.status == 127
assert [row["step"] for row in run.metrics] == [1]

# A program that was compiled before, and one that goes with its object.
kept = dtcc.compile(MODEL, output="kept", bind="batch=2,seq=8", cluster="cpu:1")
assert dtcc.Program("kept").run(tokens="corpus.bin:u16", steps=1, progress=False, save=False).weights is None
place = program.path
del program, run, error  # whose frames hold the program
assert not place.exists() and kept.path.exists()

# Tokens are those of the command line, from the program's weights and from those of a run.
trained = kept.run(tokens="corpus.bin:u16", steps=3, lr=0.1, progress=False)
own = kept.generate([1, 2, 3], 4)
assert own[:3] == [1, 2, 3] and len(own) == 7, own
line = subprocess.run([str(kept.path), "--generate=4", "--prompt-tokens=1,2,3"], capture_output=True, text=True).stdout
assert line.strip() == ",".join(map(str, own)), line
drawn = kept.generate([1, 2, 3], 20, run=trained, temperature=1.0, seed=5)
assert drawn == kept.generate([1, 2, 3], 20, run=trained, temperature=1.0, seed=5) and len(drawn) == 23
assert drawn != kept.generate([1, 2, 3], 20, temperature=1.0, seed=5)
refused(dtcc.DtccError, lambda: kept.generate([10**6], 1), "--prompt-tokens: a token must be from 0 to")
refused(ValueError, lambda: kept.generate([1], 1, run=kept.run(tokens="corpus.bin:u16", steps=1, save=False, progress=False)),
        "saved no weights")

# Arrays are as good as files, for tokens, for the inputs of a model and for prompts. dtcc itself needs no NumPy.
if importlib.util.find_spec("numpy"):
    import numpy

    ids = numpy.fromfile("corpus.bin", dtype=numpy.uint16)
    losses = [kept.run(steps=2, save=False, progress=False, **each).metrics[-1]["loss"]
              for each in ({"tokens": "corpus.bin:u16"}, {"tokens": ids}, {"tokens": [ids]})]
    assert losses[0] == losses[1] == losses[2], losses
    rows = ids[:8 * 40].reshape(40, 8).astype(numpy.int64)
    given = {"input_ids": rows, "labels": rows}
    run = kept.run(data=given, eval_data=given, steps=2, save=False, progress=False)
    assert len(run.metrics) == 2 and len(run.evaluations) == 1
    assert own == kept.generate(numpy.array([1, 2, 3]), 4) == kept.generate(numpy.array([[1, 2, 3]]), 4)
refused(TypeError, lambda: kept.generate("abc", 4), "must be token ids", "got: str")
refused(TypeError, lambda: kept.generate([[1, 2], [3, 4]], 4), "one row of whole numbers")
refused(TypeError, lambda: kept.generate([0.5], 4), "one row of whole numbers")
refused(ValueError, lambda: kept.generate([], 4), "at least one token id")

# The bar of a terminal, without tqdm.
progress.tqdm = None
terminal = io.StringIO()
terminal.isatty = lambda: True
with contextlib.redirect_stderr(terminal):
    kept.run(tokens="corpus.bin:u16", steps=3, save=False)
assert "\r[##########                    ] step 1/3  loss " in terminal.getvalue(), terminal.getvalue()
assert terminal.getvalue().endswith("\n")

# Refusals are the tools' own, with their status.
error = refused(dtcc.DtccError, lambda: dtcc.compile(MODEL, cluster="cpu:1"), "symbolic dimensions without a value", "'seq'")
assert error.status == 1 and error.command[-1].endswith("program")
error = refused(dtcc.DtccError, lambda: dtcc.compile(MODEL, bind="batch=2,seq=8", zeros=1), "did you mean --zero?")
assert error.status == 2
error = refused(dtcc.DtccError, lambda: kept.run(tokens="none.bin", steps=1, progress=False), "cannot read none.bin")
assert error.status == 1 and not str(error).startswith("error")
error = refused(dtcc.DtccError, lambda: kept.run(tokens="corpus.bin:u16", stepz=1), "did you mean --steps?")
assert error.status == 2
refused(dtcc.DtccError, lambda: dtcc.compile("none.onnx"), "none.onnx")
refused(dtcc.DtccError, lambda: dtcc.Program("none"), "no such program: none")
refused(TypeError, lambda: dtcc.compile(MODEL, example={}), "for modules")
refused(TypeError, lambda: dtcc.compile(object(), example={}), "must be a torch.nn.Module or the path of a file")
with open("broken.jsonl", "w") as file:
    file.write('{"step":1}\n[1]\n')
refused(ValueError, lambda: metrics.read("broken.jsonl"), "broken.jsonl, line 2: must be a JSON object")
os.environ["DTCC_BIN"] = os.getcwd()
assert refused(dtcc.DtccError, lambda: dtcc.compile(MODEL), "dtcc was not found in").status == 127
print("driven")
