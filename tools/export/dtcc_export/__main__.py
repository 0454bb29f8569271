# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m dtcc_export package.module:factory -o model.onnx
python -m dtcc_export FOLDER -o model.onnx

The factory takes no arguments and returns (module, example_inputs), or (module, example_inputs, options) where options
are further arguments of dtcc_export.export, such as {"loss": "cross_entropy"}. A folder is one that a transformers
model's save_pretrained() wrote, or a download of it.
"""
import argparse
import importlib
import logging
import os
import sys
import warnings


def build(reference):
    """(module, example inputs, options) of a folder or of "package.module:factory"."""
    from . import hub
    if hub.is_folder(reference):
        return (*hub.from_folder(reference), {})
    if os.path.isdir(reference):
        raise ValueError(f"a folder must have a config.json, as save_pretrained() writes it: '{reference}'")
    module_name, colon, attribute = reference.partition(":")
    if not colon or not module_name or not attribute:
        raise ValueError(f"must be package.module:factory or a folder of transformers, got: '{reference}'")
    sys.path.insert(0, os.getcwd())
    made = getattr(importlib.import_module(module_name), attribute)()
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise ValueError(f"'{reference}' must return (module, example_inputs) or (module, example_inputs, options)")
    return made if len(made) == 3 else (*made, {})


def main():
    parser = argparse.ArgumentParser(prog="python -m dtcc_export", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factory", metavar="FACTORY|FOLDER",
                        help="import path of the function that makes the module, package.module:factory, or a folder "
                             "of transformers")
    parser.add_argument("-o", "--output", default="model.onnx", metavar="FILE")
    parser.add_argument("--loss", help="cross_entropy, causal_lm, mse, l1 or bce, with options as in dtcc's --loss; "
                                       "default: the module returns its loss")
    parser.add_argument("--no-decay", action="append", default=[], metavar="GLOB", help="parameters without weight decay")
    parser.add_argument("--as-is", action="store_true", help="keep each submodule's own training or evaluation mode")
    parser.add_argument("--opset", type=int)
    parser.add_argument("--check", action="store_true", help="then compare the file with the module")
    arguments = parser.parse_args()
    from . import ExportError, ExportWarning, check, export
    # Those of the exporter are about itself.
    warnings.filterwarnings("ignore")
    warnings.filterwarnings("always", category=ExportWarning)
    warnings.showwarning = lambda message, *_: print(f"dtcc_export: warning: {message}", file=sys.stderr)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)

    try:
        module, inputs, options = build(arguments.factory)
        if arguments.loss is not None:
            options["loss"] = arguments.loss
        if arguments.no_decay:
            options["no_decay"] = arguments.no_decay
        if arguments.as_is:
            options["train"] = False
        if arguments.opset is not None:
            options["opset"] = arguments.opset
        facts = export(module, inputs, arguments.output, **options)
        rows = [row for row in facts["parameters"] if "of_checkpoints" not in row]
        own = [r for r in rows if r["tied_to"] is None]
        count = sum(module.get_parameter(r["name"]).numel() for r in own)
        print(f"{arguments.output}: {len(own)} parameters ({count:,} values), {len(rows) - len(own)} tied, "
              f"{sum(not r['trainable'] for r in own)} frozen, {sum('unused' in r for r in own)} unused")
        if arguments.check:
            losses, gradients = check(arguments.output, module, inputs, options.get("loss"))
            if losses is None:
                print("parameters equal bit by bit; losses and gradients were not compared: the file draws random numbers")
                return 0
            by_dtcc = "gradients were not compared with dtcc's: dtcc was not found"
            if gradients is not None:
                by_dtcc = f"gradients of dtcc's step differ by {gradients:.1e}"
            print(f"parameters equal bit by bit; losses differ by {losses:.1e}; {by_dtcc}")
    except (ExportError, ValueError, AttributeError, ImportError, OSError) as error:
        print(f"dtcc_export: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
