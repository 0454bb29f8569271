# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""export() and compile()."""
import os
import sys
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

from . import options as words_of
from . import tools
from .errors import call, pass_on
from .folder import TemporaryFolder
from .program import Program

# Folders of the export where it is not installed as a package: in the repository, and in an installed tree.
EXPORT = (tools.HERE.parents[1] / "tools" / "export", tools.HERE.parents[1] / "export")


def exporter() -> Any:
    """The package dtcc_export. It imports PyTorch."""
    try:
        import dtcc_export
    except ModuleNotFoundError as error:
        if error.name != "dtcc_export":
            raise ImportError(f"a module is exported by PyTorch and its exporter, and {error.name} is missing: see "
                              "docs/export.md") from error
        folder = next((each for each in EXPORT if (each / "dtcc_export").is_dir()), None)
        if folder is None:
            raise
        sys.path.append(str(folder))
        return exporter()
    return dtcc_export


def export(module: Any, example: Any, path: "str | Path", **options: Any) -> Dict[str, Any]:
    """Writes a torch.nn.Module with its loss as one ONNX file, and returns the manifest.

    `example` is {input name: tensor}, or the tensors in the order of forward. Options are those of dtcc_export.export:
    loss, dynamic, no_decay, .. Raises dtcc_export.ExportError for what the file could not say faithfully.
    """
    manifest: Dict[str, Any] = exporter().export(module, example, os.fspath(path), **options)
    return manifest


def sizes(manifest: Mapping[str, Any], example: Mapping[str, Any]) -> Dict[str, int]:
    """Symbolic dimensions of the exported inputs, with their sizes in the example."""
    return {symbol: example[row["name"]].shape[axis] for row in manifest["inputs"] if row["name"] in example
            for axis, symbol in enumerate(row["shape"]) if isinstance(symbol, str)}


def compile(model: Any, example: Any = None, *, cluster: str = "cpu", output: "Optional[str | Path]" = None,
            bind: "Optional[str | Mapping[str, int]]" = None, loss: Any = None,
            optimizer: Any = None, export_options: Optional[Mapping[str, Any]] = None, **options: Any) -> Program:
    """Compiles the training of a model for a cluster.

    model    a torch.nn.Module, or the path of an .onnx file
    example  of a module: its inputs, as for export(). One batch of the step has the example's sizes, unless `bind`
             says otherwise
    cluster  the machines: "cpu:4", "8xh100", or a file
    output   the program's path; default: a temporary folder that lives as long as the result
    bind     values of symbolic dimensions: {"batch": 8, "seq": 128}; `batch` is the global batch
    loss     of a module: as export() takes it; of a file: as ``dtcc --loss`` does
    optimizer  text as ``dtcc --optimizer`` takes it; of a module also a new torch.optim.AdamW, Adam, SGD, Adagrad, Muon
               or Adafactor, whose groups say what trains and decays
    export_options  further arguments of export()
    options  further options of dtcc under their own names: zero=1, mesh={"dp": 2, "tp": 2}, clip=1.0

    Raises DtccError with dtcc's message.
    """
    is_file = isinstance(model, (str, os.PathLike))
    if is_file and (example is not None or export_options is not None):
        raise TypeError("example and export_options are for modules, and the model is a file: "
                        f"{os.fspath(model)}")
    has_groups = hasattr(optimizer, "param_groups")
    if is_file and has_groups:
        raise TypeError("an optimizer of a file must be text, as dtcc's --optimizer takes it")
    if not is_file and example is None:
        raise TypeError("a module is traced with an example of its inputs: give example={name: tensor}")
    if not is_file and not callable(getattr(model, "named_parameters", None)):
        raise TypeError(f"the model must be a torch.nn.Module or the path of a file, got: {type(model).__name__}")
    folder = TemporaryFolder()
    path = Path(output) if output is not None else folder.path / "program"
    if is_file:
        file, options = Path(model), {"loss": loss, **options}
    else:
        file = folder.path / "model.onnx"
        settings = {**(export_options or {}), **({} if loss is None else {"loss": loss})}
        if has_groups:
            settings["optimizer"], optimizer = optimizer, exporter().optimizers.text_of(optimizer)
        manifest = export(model, example, file, **settings)
        named = exporter().api.named_inputs(model, example)
        bind = {**sizes(manifest, named), **parsed(bind)}
    words = words_of.words({"cluster": cluster, "bind": bind or None, "optimizer": optimizer, **options})
    done = call([tools.find("dtcc"), str(file), *words, "-o", str(path)])
    pass_on(done.stderr)
    return Program(path, folder)


def parsed(bind: "Optional[str | Mapping[str, int]]") -> Dict[str, Any]:
    if bind is None or isinstance(bind, Mapping):
        return dict(bind or {})
    return {name: size for name, _, size in (pair.partition("=") for pair in bind.split(","))}
