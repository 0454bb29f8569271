# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What check() must catch: the exporter's own result for a model, with the manifest that a faithful file would have.

    python plain.py MODEL FILE.onnx     prints what check() says
"""
import logging
import sys
import warnings

import onnx
import torch

import dtcc_export
import zoo
from dtcc_export.losses import with_loss

warnings.filterwarnings("ignore")
logging.getLogger("torch.onnx").setLevel(logging.ERROR)
module, inputs, options = getattr(zoo, sys.argv[1])()
path = sys.argv[2]
dtcc_export.export(module, inputs, path, **options)
manifest = onnx.load(path).metadata_props[0]

wrapper = with_loss(module, list(inputs), options["loss"])[0]
shapes = {name: {0: "batch"} for name in inputs}
torch.onnx.export(wrapper, (), path, kwargs=inputs, dynamo=True, dynamic_shapes=shapes, verbose=False)
model = onnx.load(path)
model.metadata_props.append(manifest)
onnx.save(model, path)
try:
    dtcc_export.check(path, module, inputs, options["loss"])
except dtcc_export.ExportError as error:
    print("caught:", error)
