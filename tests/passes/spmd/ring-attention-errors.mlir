// RUN: echo '{"version": 1, "mesh": [{"name": "cp", "size": 2, "kind": "rank"}], "batch_axes": [], "sequence_axes": ["cp"], "ops": [{"origin": 15, "op": "graph.contract", "factors": {}, "ring": true}]}' > %t.json
// RUN: not dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%t.json" 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: gpt.mlir:{{[0-9]+}}:{{[0-9]+}}: error: only the keys of attention go around a ring
// RUN: echo '{"version": 1, "mesh": [], "batch_axes": [], "ops": [{"origin": 15, "op": "graph.contract", "factors": {}, "ring": 1}]}' > %t.json
// RUN: not dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%t.json" 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: expected boolean at plan.ops[0].ring
