# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trained weights, back into a module."""
import json
from pathlib import Path
from typing import Any, Dict, List


def files_of(path: Path) -> List[Path]:
    """The safetensors files of a folder that --save=FOLDER/ wrote, or the one file."""
    if path.is_file():
        return [path]
    index = path / "model.safetensors.index.json"
    if index.is_file():
        names = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        return [path / name for name in sorted(set(names))]
    if (path / "model.safetensors").is_file():
        return [path / "model.safetensors"]
    raise ValueError(f"no weights in {path}: there is no model.safetensors")


def load(module: Any, path: Path) -> None:
    """Copies weights into a module, whose names and shapes must be those of the file; types are the module's."""
    if path.suffix == ".onnx":
        raise ValueError(f"weights are loaded from safetensors, got: {path}; give save a folder or FILE.safetensors")
    try:
        import safetensors.torch
    except ImportError as error:
        raise ImportError("weights are loaded by the package safetensors: pip install safetensors") from error
    files = files_of(path)
    if path.is_file():
        # A file has tied parameters once, and no buffers that the step does not change.
        missing, unexpected = safetensors.torch.load_model(module, path, strict=False)
        missing = sorted(set(missing) & {name for name, _ in module.named_parameters()})
        if missing or unexpected:
            raise ValueError(f"{path} is not of this module: it lacks {missing} and has {sorted(unexpected)} besides")
        return
    tensors: Dict[str, Any] = {}
    for file in files:
        tensors.update(safetensors.torch.load_file(file))
    module.load_state_dict(tensors)
