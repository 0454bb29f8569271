# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints whether an exported file is sound by itself: valid, and its manifest and initializers say the same."""
import json
import sys

import onnx

model = onnx.load(sys.argv[1])
onnx.checker.check_model(model, full_check=True)
facts = json.loads({p.key: p.value for p in model.metadata_props}["dtcc.manifest"])
shapes = {i.name: list(i.dims) for i in model.graph.initializer}
for row in facts["parameters"]:
    assert shapes[row["initializer"]] == row["shape"], row
names = [r["initializer"] for r in facts["parameters"] if r["tied_to"] is None]
assert len(set(names)) == len(names), "two parameters share an initializer"
moved = [r["update"]["value"] for r in facts["buffers"] if "update" in r]
outputs = [o.name for o in model.graph.output]
assert outputs[0] == facts["loss"]["output"] and set(outputs[1:]) <= set(moved), outputs
assert {i["name"] for i in facts["inputs"]} == {i.name for i in model.graph.input}
print("sound:", len(names), "parameters,", "inputs", *[f"{i['name']}={i['role']}" for i in facts["inputs"]])
