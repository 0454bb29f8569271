# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run of a program: while it goes on, and what it leaves."""
import itertools
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence

from . import metrics as lines
from . import options as words_of
from .errors import DtccError, check, not_run, pass_on
from .folder import TemporaryFolder
from .progress import Progress

if TYPE_CHECKING:
    from .program import Program


class Run:
    """What a finished run leaves: its metrics and its trained weights."""

    def __init__(self, rows: List[lines.Row], weights: Optional[Path],
                 folder: TemporaryFolder) -> None:
        self.rows = rows  # all lines of the metrics file, events included
        self.weights = weights  # where trained weights lie
        self.folder = folder

    @property
    def metrics(self) -> List[lines.Row]:
        """A row for each step: step, loss, grad_norm, lr, step_seconds, .."""
        return [row for row in self.rows if "loss" in row]

    @property
    def evaluations(self) -> List[lines.Row]:
        """A row for each evaluation: step, eval_loss, .."""
        return [row for row in self.rows if "eval_loss" in row]

    def frame(self) -> Any:
        """The metrics as a pandas.DataFrame, one row a step; evaluations are further columns."""
        import pandas

        steps: Dict[int, Dict[str, Any]] = {}
        for row in self.metrics + self.evaluations:
            steps.setdefault(row["step"], {}).update(row)
        return pandas.DataFrame([steps[step] for step in sorted(steps)])

    def write_tensorboard(self, folder: "str | Path") -> None:
        """The metrics as an event file of TensorBoard in `folder`."""
        from .tensorboard import write

        write(self.rows, folder)

    def load_into(self, module: Any) -> None:
        """Copies the trained weights into a PyTorch module of the same names and shapes."""
        from . import weights

        weights.load(module, self.weights_folder())

    def weights_folder(self) -> Path:
        """Where the trained weights lie; an error if the run saved none."""
        if self.weights is None:
            raise ValueError("the run saved no weights: run it with save=True")
        return self.weights

    def __repr__(self) -> str:
        steps = self.metrics
        return f"Run({len(steps)} steps" + (f", loss {steps[-1]['loss']:.6f})" if steps else ")")

    def _repr_html_(self) -> str:
        rows = self.metrics
        names = list(rows[-1]) if rows else []
        shown = rows if len(rows) <= 12 else rows[:6] + rows[-6:]

        def cells(tag: str, values: Sequence[Any]) -> str:
            texts = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
            return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in texts) + "</tr>"

        return "<table>" + cells("th", names) + "".join(cells("td", [row.get(name, "") for name in names])
                                                        for row in shown) + "</table>"


def start(program: "Program", options: Dict[str, Any], metrics: "Optional[str | Path]", save: "bool | str | Path",
          progress: "bool | Callable[[lines.Row], Any]", launcher: Sequence[str], folder: TemporaryFolder) -> Run:
    """Runs the program to its end. Its lines on standard output say when there are new metrics. `folder` has room for
    what the run leaves."""
    rows_file = Path(metrics) if metrics is not None else folder.path / "metrics.jsonl"
    weights: Optional[Path] = None
    if save is True and not options.get("eval_only"):
        weights = folder.path / "weights"
    elif not isinstance(save, bool):
        weights = Path(save)
    # A folder, which is known by the slash, holds every tensor of the module.
    options = {**options, "metrics": rows_file, "save": f"{weights}/" if save is True else save}
    command = [*launcher, str(program.path), *words_of.words(options)]
    follower, shown = lines.Follower(rows_file), Progress(progress)
    follower.position = 0 if metrics is None or not rows_file.is_file() or not options.get("resume") else \
        rows_file.stat().st_size
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        # In a session of its own, so that an interrupt from a terminal reaches the program once: from here.
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                       text=True, errors="replace", start_new_session=True)
        except OSError as error:
            raise not_run(command, error) from error
        assert process.stdout is not None
        try:
            for _ in itertools.chain(process.stdout, ["the end"]):
                for row in follower.new_rows():
                    shown.add(row)
            status = process.wait()
        except BaseException:
            process.terminate()
            process.communicate()
            raise
        finally:
            process.stdout.close()
            shown.close()
        errors.seek(0)
        said = errors.read()
    rows = lines.read(rows_file) if rows_file.is_file() else []
    try:
        check(command, status, said)
    except DtccError as error:
        error.rows = rows
        raise
    pass_on(said)
    return Run(rows, weights, folder)
