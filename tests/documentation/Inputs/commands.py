# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every command of pages of the documentation, in their order, in a folder that looks like a built clone.

    commands.py BUILD SOURCE FOLDER TORCH_PYTHON PAGE ...

A command is a line in a block that is indented by four spaces; a block of ```python runs as a whole. Each must end with
status 0. Sizes of runs are made smaller (SMALLER), and commands that cannot run here are listed with the reason (NOT_HERE): a
command of a page that is neither run nor listed is an error, and so is an entry of either list that no page needs. Commands
that need PyTorch, transformers or MPI are left out where these are missing, and named."""
import os
import re
import shutil
import subprocess
import sys

ALL_PAGES = {"README.md", "docs/tutorial.md", "docs/export.md", "docs/checkpoints.md"}

# (a pattern, what stands there in its place): a small run of the same command.
SMALLER = [
    (r"--steps=\d+", "--steps=3"),
    (r"--generate=\d+", "--generate=3"),
    (r"--eval-every=\d+", "--eval-every=2"),
    (r"--checkpoint-every=\d+", "--checkpoint-every=2"),
    (r"--bind=batch=128,seq=8192", "--bind=batch=128,seq=128"),
    (r"--epochs=2 ", "--epochs=2 --eval-steps=1 "),
    (r"package\.module:factory", "bytegpt:example"),
    (r"(dtcc_export) FOLDER", r"\1 Llama"),
    (r"docs/\*\.md", "docs/export.md docs/faults.md docs/data.md docs/checkpoints.md"),
]

# A command that begins so is not run, for this reason.
NOT_HERE = {
    "tools/quickstart": "installs and builds; continuous integration runs it",
    "tools/check": "runs all tests, this one among them",
    "tools/install-deps": "installs packages",
    "cmake --preset release": "this test runs in the build that it makes",
    "cmake --build --preset release": "this test runs in the build that it makes",
    "python3 -m venv build/export": "the environment of Python is that of the build folder",
    "build/export/bin/pip install": "fetches PyTorch",
    "export PYTHONPATH=": "the variable is set for all commands",
    "torchrun --no-python --nnodes=2": "two hosts: the test cluster-hosts",
    "build/bytegpt --rendezvous=HOST0": "two hosts: the test cluster-hosts",
}

# Commands that need PyTorch find these modules and a folder of transformers.
PREPARED = '''
import os, sys, torch, bytegpt, dtcc_export
from torch import nn
from torch.nn import functional as F

class Model(nn.Module):
    """Returns the loss of token ids as a transformers model computes it, or scores of x."""
    def __init__(self):
        super().__init__()
        self.gpt, self.scores = bytegpt.ByteGPT(), nn.Linear(8, 4)

    def forward(self, input_ids=None, labels=None, x=None):
        if x is not None:
            return self.scores(x)
        logits = self.gpt(input_ids)[:, :-1]
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels[:, 1:].reshape(-1))

torch.manual_seed(0)
model, ids = Model(), torch.randint(0, 256, (4, 64))
x, y, my_loss = torch.randn(4, 8), torch.randint(0, 4, (4,)), F.cross_entropy
'''
LLAMA = '''
import transformers as hf
sizes = {"vocab_size": 256, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
hf.LlamaForCausalLM(hf.LlamaConfig(num_key_value_heads=1, **sizes)).save_pretrained("Llama")
'''
CONFIG = '''{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32000, "hidden_size": 2048,
"intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4,
"max_position_embeddings": 8192}'''


def commands(page):
    """The commands of a page, and its blocks of Python."""
    found, block, python = [], None, None
    for line in open(page, encoding="utf-8"):
        if line.startswith("```"):
            if python is not None:
                found.append(("python", "".join(python)))
            python = [] if python is None and line.strip() == "```python" else None
            block = None if block == "fence" or line.strip() == "```" else "fence"
            continue
        if python is not None:
            python.append(line)
        elif block != "fence" and line.startswith("    ") and line.strip():
            text = line.strip()
            if found and found[-1][0] == "shell" and found[-1][1].endswith("\\"):
                found[-1] = ("shell", found[-1][1][:-1] + text)
            else:
                found.append(("shell", text))
    return found


def main():
    build, source, folder, torch_python, *pages = sys.argv[1:]
    assert set(pages) <= ALL_PAGES, pages
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/build/export/bin")
    for name in ("README.md", "docs", "examples", "tools", "python"):
        os.symlink(f"{source}/{name}", f"{folder}/{name}")
    os.symlink(f"{build}/bin", f"{folder}/build/bin")
    has_torch = os.access(torch_python, os.X_OK)
    has_transformers = has_torch and not subprocess.run([torch_python, "-c", "import transformers"], capture_output=True).returncode
    has_mpi = shutil.which("mpirun") is not None
    scripts = os.path.dirname(torch_python)
    if has_torch:
        # "python" of the pages is the environment's, whatever its name.
        for name in ("python", "torchrun"):
            with open(f"{folder}/build/export/bin/{name}", "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nexec "{scripts}/{name}" "$@"\n')
            os.chmod(f"{folder}/build/export/bin/{name}", 0o755)
    path = [f"{folder}/build/export/bin", os.environ["PATH"]]
    # Ranks that outnumber the cores must yield to each other, and containers run as root.
    environment = dict(os.environ, PATH=os.pathsep.join(path), PYTHONPATH=f"{source}/tools/export:{source}/examples/bytegpt:{source}/python",
                       DTCC_BIN=f"{build}/bin", OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_btl="self,vader", OMPI_MCA_pml="ob1",
                       OMPI_MCA_hwloc_base_binding_policy="none", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def run(command, **more):
        return subprocess.run(command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=400, **more)

    shutil.copy(f"{source}/examples/bytegpt/model.onnx", f"{folder}/model.onnx")
    with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
        file.write(CONFIG)
    made = run(["tools/corpus", "docs/export.md", "docs/faults.md", "docs/data.md", "docs/checkpoints.md", "-o", "corpus.npy"])
    assert made.returncode == 0, made.stdout
    if has_transformers:
        made = run([torch_python, "-c", LLAMA])
        assert made.returncode == 0, made.stdout
    # The pages of training need a program of their own if no command before them made one.
    failed, used, count = [], set(), 0
    for page in pages:
        if page == "docs/checkpoints.md":
            made = run(["build/bin/dtcc", "model.onnx", "--cluster=cpu:2", "--bind=batch=4,seq=32", "-o", "model"])
            assert made.returncode == 0, made.stdout
        for kind, text in commands(f"{source}/{page}"):
            reason = next((NOT_HERE[begin] for begin in NOT_HERE if text.startswith(begin)), None) if kind == "shell" else None
            if reason:
                used.update(begin for begin in NOT_HERE if text.startswith(begin))
                continue
            used.update(pattern for pattern, _ in SMALLER if re.search(pattern, text))
            needs_llama = kind == "shell" and re.search(r"[Ll]lama\b", text) and "transformer=" not in text or "dtcc_export FOLDER" in text
            needs_torch = kind == "python" or re.search(r"dtcc_export|torchrun", text)
            lacks = "transformers" if needs_llama and not has_transformers else "PyTorch" if needs_torch and not has_torch \
                else "MPI" if text.startswith("mpirun") and not has_mpi else None
            if lacks:
                print(f"left out, without {lacks}: {page}: {text.splitlines()[0]}")
                continue
            for pattern, smaller in SMALLER:
                text = re.sub(pattern, smaller, text)
            words = [torch_python, "-c", PREPARED + ("import dtcc\n" if "dtcc." in text else "") + re.sub(
                r"(?<=steps=)\d+", "3", text)] if kind == "python" else ["bash", "-c", text]
            done = run(words)
            count += 1
            if done.returncode:
                failed.append(text)
                print(f"{page}: status {done.returncode}: {text}\n{done.stdout[-3000:]}")
    if set(pages) == ALL_PAGES:
        for entry in [each for each in (*NOT_HERE, *(pattern for pattern, _ in SMALLER)) if each not in used]:
            failed.append(entry)
            print(f"no page has a command for this entry: {entry}")
    print(f"{count} commands ran, {len(failed)} failed")
    shutil.rmtree(folder)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
