# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled program."""
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence

from . import inputs
from . import options as words_of
from .errors import DtccError, call
from .folder import TemporaryFolder
from .metrics import Row
from .plan import Plan
from .run import Run, start


class Program:
    """A program that dtcc has compiled, in this session or another: ``dtcc.Program("model")``."""

    def __init__(self, path: "str | Path", folder: Optional[TemporaryFolder] = None) -> None:
        """`folder` is a temporary one in which the program lies, and that goes with it."""
        self.path = Path(path).resolve()
        self.folder = folder
        if not self.path.is_file():
            raise DtccError(f"no such program: {path}", 1, [str(path)])

    @property
    def plan(self) -> Plan:
        return Plan(self.path)

    @property
    def info(self) -> str:
        """Plan, memory, forecast and defaults, as ``--info`` prints them."""
        return call([str(self.path), "--info"]).stdout

    def run(self, *, tokens: Any = None, data: Any = None, steps: Optional[int] = None,
            metrics: "Optional[str | Path]" = None, save: "bool | str | Path" = True,
            progress: "bool | Callable[[Row], Any]" = True, launcher: "str | Sequence[str]" = (),
            **options: Any) -> Run:
        """Trains, and returns when the program has ended.

        tokens    a stream of token ids: a file or an array, or a list of these; or
        data      a folder of .npy files named like the inputs, or {name: file or array}
        steps     optimizer steps; default: one pass over the data
        metrics   the file of JSON lines; default: a temporary one
        save      where trained weights go; True: into a temporary folder, for Run.load_into; False: nowhere
        progress  shows a bar; or a function that gets each row of the metrics; or False
        launcher  words before the program, as "mpirun -n 4" or ["mpirun", "-n", "4"]
        options   further options of the program under their own names: lr=1e-3, eval_fraction=0.1, checkpoint="ck"

        Arrays of NumPy and tensors of PyTorch are written to temporary files; eval_tokens and eval_data take them too.
        Raises DtccError with the program's message. A KeyboardInterrupt ends the program cleanly, with a checkpoint if
        it has a folder for these, and is raised again.
        """
        folder = TemporaryFolder()
        given = {"tokens": tokens, "data": data, "steps": steps, **options}
        for name, read in (("tokens", inputs.tokens_of), ("data", inputs.data_of)):
            for option in (name, "eval_" + name):
                given[option] = read(given.get(option), folder.path, option)
        return start(self, given, metrics, save, progress, inputs.launcher_of(launcher), folder)

    def generate(self, prompt: Any, tokens: int = 100, *, run: Optional[Run] = None,
                 launcher: "str | Sequence[str]" = (), **options: Any) -> List[int]:
        """Token ids: those of the prompt, and so many behind it that the model predicts.

        prompt   token ids: a list, an array or a tensor
        run      whose trained weights predict; default: the program's own, or a checkpoint of checkpoint="ck"
        options  temperature=0.8, top_k=40, seed=1, stop_token=ID; without a temperature the likeliest token counts

        Every token costs a forward pass over the whole window. Raises DtccError if the model is not causal.
        """
        if run is not None:
            options["weights"] = run.weights_folder()
        given = {"generate": tokens, "prompt_tokens": inputs.prompt_of(prompt), **options}
        written = call([*inputs.launcher_of(launcher), str(self.path), *words_of.words(given)]).stdout
        return [int(token) for token in written.split(",")]

    def __repr__(self) -> str:
        return f"Program({str(self.path)!r})"

    def _repr_html_(self) -> str:
        return self.plan._repr_html_()
