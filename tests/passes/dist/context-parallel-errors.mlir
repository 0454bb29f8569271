// RUN: not dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="mesh=cp=2" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --dist-apply-plan="mesh=cp=3" 2>&1 | FileCheck %s --check-prefix=LENGTH
// RUN: echo '{"version": 1, "mesh": [{"name": "cp", "size": 2, "kind": "rank"}], "batch_axes": ["cp"], "sequence_axes": ["cp"]}' > %t.json
// RUN: not dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --dist-apply-plan="plan=%t.json" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: echo '{"version": 1, "mesh": [{"name": "cp", "size": 2, "kind": "rank"}], "batch_axes": [], "sequence_axes": ["dp"]}' > %t.json
// RUN: not dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --dist-apply-plan="plan=%t.json" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// NONE: has no positions to split over cp: none of its inputs are tokens of sequences
// LENGTH: positions cannot be padded in this version: a sequence must divide by 3, bind another length or choose another mesh
// TWICE: sequence_axes must name other axes than batch_axes, got: "cp"
// UNKNOWN: sequence_axes must name axes of the mesh, got: "dp"
