// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=cp=2" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: echo '{"version": 1, "mesh": [{"name": "cp", "size": 2, "kind": "rank"}], "batch_axes": ["cp"], "sequence_axes": ["cp"]}' > %t.json
// RUN: not dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%t.json" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: echo '{"version": 1, "mesh": [{"name": "cp", "size": 2, "kind": "rank"}], "batch_axes": [], "sequence_axes": ["dp"]}' > %t.json
// RUN: not dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%t.json" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: echo '{"version": 1, "mesh": [{"name": "cp", "size": 4, "kind": "rank"}], "batch_axes": [], "sequence_axes": ["cp"], "sequence_order": "zigzag", "ops": []}' > %t.json
// RUN: not dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%t.json" 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: echo '{"version": 1, "mesh": [], "batch_axes": [], "sequence_order": "random", "ops": []}' > %t.json
// RUN: not dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%t.json" 2>&1 | FileCheck %s --check-prefix=ORDER

// NONE: has no positions to split over cp: none of its inputs are tokens of sequences
// TWICE: sequence_axes must name other axes than batch_axes, got: "cp"
// UNKNOWN: sequence_axes must name axes of the mesh, got: "dp"
// CHUNKS: positions cannot stand in the zig-zag order: a sequence of 4 positions has too few for 8 chunks
// ORDER: expected "contiguous" or "zigzag" at plan.sequence_order
