#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""every_operator.py FOLDER: imports files of all operators that the onnx package knows, a file for each operator set.

The message about such a file lists the operators without a rule. It must tell the nearest thing that works for each of
them, and each operator that is recommended must have a rule.
"""
import os
import re
import subprocess
import sys

import onnx
from onnx import defs, helper

FIRST_SET = 7
OPTIMIZED = ["Attention", "SkipLayerNormalization"]


def operators_of(version):
    """Pairs of domain and operator, and the set of each domain, as a file of the default domain's set may name them."""
    versions = {"": version, "com.microsoft": 1, "my.ops": 1}
    found = {("com.microsoft", name) for name in OPTIMIZED} | {("my.ops", "Frobnicate")}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain:
            versions[schema.domain] = max(versions.get(schema.domain, 1), schema.since_version)
        if schema.domain or schema.since_version <= version:
            found.add((schema.domain, schema.name))
    return sorted(found), versions


def message_about(folder, version):
    operators, versions = operators_of(version)
    nodes = [helper.make_node(op, [], [f"y{i}"], name=f"n{i}", domain=domain) for i, (domain, op) in enumerate(operators)]
    graph = helper.make_graph(nodes, "every", [], [helper.make_tensor_value_info("y0", onnx.TensorProto.FLOAT, [1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*pair) for pair in versions.items()], ir_version=8)
    path = os.path.join(folder, f"every-{version}.onnx")
    onnx.save(model, path)
    done = subprocess.run(["dtcc-import", "--no-print", path], capture_output=True, timeout=60, text=True)
    assert done.returncode == 1 and done.stderr.count(": error: ") == 1, done.stderr
    return done.stderr.split(": error: ", 1)[1].strip()


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    faults, refused, recommended = [], set(), set()
    for version in range(1, defs.onnx_opset_version() + 1):
        message = message_about(folder, version)
        refused = set(re.findall(r"([\w.]+)\.(\w+) version \d+ \(", message))
        advice = {name: text for names, text in re.findall(r"; for ([\w., ]+): (.*?)(?=; for |; operator sets|$)", message)
                  for name in names.split(", ")}
        assert ("my.ops", "Frobnicate") in refused and ("ai.onnx", "Identity") not in refused, message
        for domain, op in sorted(refused):
            names = {op} if domain == "ai.onnx" else {f"{domain}.{op}", domain}
            if not names & set(advice) and not (version < FIRST_SET and "convert the file by" in message):
                faults.append(f"set {version}: nothing is recommended for {domain}.{op}")
        recommended = set(re.findall(r"\w+", " ".join(advice.values())))
    # `refused` now holds what the newest operator set refuses.
    faults += [f"{op} is recommended and refused" for domain, op in sorted(refused) if domain == "ai.onnx" and op in recommended]
    print("\n".join(faults) or f"{len(refused)} operators are refused, each with the nearest thing")
    return bool(faults)


sys.exit(main())
