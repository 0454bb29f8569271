# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hostile.py KIND OUTPUT: writes a file that asks for much more than its size: levels of brackets, ranks, results."""
import json
import sys

kind, output = sys.argv[1:]
DEEP = 100_000


def plan(microbatches=1, pp=2, cuts=(2,), ops=(), schedule="zero-bubble", **more):
    mesh = [{"name": name, "size": size, "kind": "time" if name == "mb" else "rank"}
            for name, size in (("mb", microbatches), ("pp", pp), ("dp", 2), ("tp", 1))]
    return json.dumps({"version": 1, "mesh": mesh, "batch_axes": ["mb", "dp"], "zero": 1, "flat_axes": ["dp"],
                       "recompute": "none", "ops": list(ops), "states": [],
                       "pipeline": {"axis": "pp", "schedule": schedule, "cuts": list(cuts)}, **more})


def aliases(levels):
    """Each alias stands for the one before twice."""
    return "#a0 = [1, 2]\n" + "".join(f"#a{i} = [#a{i - 1}, #a{i - 1}]\n" for i in range(1, levels)) + \
        f"module attributes {{x.y = #a{levels - 1}}} {{}}\n"


def chain(levels):
    """Each alias lies in the next one."""
    return "#a0 = [1]\n" + "".join(f"#a{i} = [#a{i - 1}]\n" for i in range(1, levels)) + \
        f"module attributes {{x.y = #a{levels - 1}}} {{}}\n"


def graph_chain(ops):
    """A model of `ops` in a row."""
    first = "  %w = graph.read @w : tensor<4xf32>\n  %b = graph.broadcast %w [1] : (tensor<4xf32>) -> tensor<2x4xf32>\n" \
            "  %v0 = graph.mul %x, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n"
    row = "".join(f"  %v{i} = graph.tanh %v{i - 1} : tensor<2x4xf32>\n" for i in range(1, ops))
    return 'graph.state @w : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, ' \
           'saved_name = "w", saved_shape = array<i64: 4>, init = #graph.init<normal, 0.0, 0.5>}\n' \
           'func.func @loss(%x: tensor<2x4xf32> {graph.name = "x", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {\n' \
           f'{first}{row}' \
           f'  %sum = graph.reduce sum %v{ops - 1} [0, 1] : (tensor<2x4xf32>) -> tensor<f32>\n' \
           '  %count = graph.constant dense<8.0> : tensor<f32> : tensor<f32>\n  return %sum, %count : tensor<f32>, tensor<f32>\n}\n'


KINDS = {
    "json": lambda: "[" * DEEP,
    "json-objects": lambda: '{"mesh":' * DEEP,
    "yaml": lambda: "nodes: " + "[" * DEEP,
    "yaml-lines": lambda: "- " * DEEP + "a\n",
    "mlir-attributes": lambda: "module attributes {x.y = " + "[" * DEEP + "]" * DEEP + "} {}\n",
    "mlir-types": lambda: "func.func private @f(" + "tuple<" * DEEP + "i1" + ">" * DEEP + ")\n",
    "mlir-regions": lambda: "module {" * DEEP + "}" * DEEP + "\n",
    "mlir-aliases": lambda: aliases(40),
    "mlir-chain": lambda: chain(DEEP),
    "mlir-signs": lambda: "module attributes {x.y = affine_map<(d0) -> (" + "-" * DEEP + "d0)>} {}\n",
    "graph-chain": lambda: graph_chain(6_000),
    "mlir-results": lambda: "func.func @f(%x: tensor<2xf32>) {\n  %y = graph.silu %x#2147483647 : tensor<2xf32>\n}\n",
    "plan-ranks": lambda: plan(pp=2_147_483_647),
    "plan-more-ranks": lambda: plan(pp=2_147_483_648),
    "plan-microbatches": lambda: plan(microbatches=1_000_000),
    "plan-origin": lambda: plan(ops=[{"origin": 9_223_372_036_854_775_807, "op": "graph.add", "factors": {}}]),
    "plan-axes": lambda: json.dumps({"version": 1, "mesh": [{"name": str(i), "size": 1, "kind": "rank"} for i in range(DEEP)],
                                     "batch_axes": [], "ops": [], "states": []}),
}
with open(output, "w") as file:
    file.write(KINDS[kind]())
