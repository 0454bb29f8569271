# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Metrics of runs as event files of TensorBoard.

    python -m dtcc.tensorboard run.jsonl other.jsonl -o runs     # runs/run and runs/other
    tensorboard --logdir=runs

Each number of a step becomes a curve: train/loss, train/lr, .., and eval/loss of evaluations. The package tensorboard writes
the files, or tensorboardX where that is installed instead.
"""
import argparse
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

from .metrics import Row, read


def writer(folder: str) -> Tuple[Callable[[str, float, int, float], Any], Callable[[], Any]]:
    """Functions that add a value (tag, value, step, time), and that end the file."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError:
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise ImportError("event files are written by the package tensorboard or tensorboardX: pip install tensorboard") \
                from error
        other = SummaryWriter(folder)
        return other.add_scalar, other.close
    file = EventFileWriter(folder)

    def add(tag: str, value: float, step: int, when: float) -> None:
        file.add_event(Event(wall_time=when, step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)])))

    return add, file.close


def scalars(row: Row) -> Iterator[Tuple[str, float]]:
    """The curves that a row has a point of."""
    is_evaluation = "eval_loss" in row
    norms = {f"grad_norms/{name}": norm for name, norm in row.get("grad_norms", {}).items()}
    for key, value in {**row, **norms}.items():
        if key != "step" and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield "eval/" + key.removeprefix("eval_") if is_evaluation else "train/" + key, value


def write(rows: Sequence[Row], folder: "str | Path", ended: Optional[float] = None) -> None:
    """Writes one event file into `folder`. `ended` is the time of the last row; default: now."""
    if any(Path(folder).glob("events.out.tfevents.*")):
        raise ValueError(f"{folder} has an event file already, whose curves would be mixed with these: name another folder")
    rows = [row for row in rows if "step" in row]
    if not rows:
        raise ValueError("the metrics have no steps")
    add, close = writer(str(folder))
    seconds: List[float] = [row.get("step_seconds") or row.get("eval_seconds") or 0.0 for row in rows]
    now = (time.time() if ended is None else ended) - sum(seconds)
    for row, took in zip(rows, seconds):
        now += took
        for tag, value in scalars(row):
            add(tag, value, row["step"], now)
    close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dtcc.tensorboard", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metrics", nargs="+", help="files that --metrics wrote")
    parser.add_argument("-o", "--output", default="runs", metavar="FOLDER", help="one folder a run goes in here")
    arguments = parser.parse_args()
    for name in arguments.metrics:
        try:
            path = Path(name)
            write(read(path), Path(arguments.output) / path.stem, path.stat().st_mtime)
        except (OSError, ValueError, ImportError) as error:
            why = f"cannot use {error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
            print(f"dtcc.tensorboard: {why}" if name in why else f"dtcc.tensorboard: {name}: {why}", file=sys.stderr)
            return 1
        print(f"wrote {Path(arguments.output) / path.stem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
