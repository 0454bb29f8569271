// RUN: split-file %s %t
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=microbatches=3" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=pp=2" 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=microbatches=2,zero=4" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t/absent.json" 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t/syntax.json" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t/version.json" 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t/axis.json" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t/origin.json" 2>&1 | FileCheck %s --check-prefix=ORIGIN
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t/name.json" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t/factor.json" 2>&1 | FileCheck %s --check-prefix=FACTOR
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t/state.json" 2>&1 | FileCheck %s --check-prefix=STATE

// BATCH: batch must divide by micro-batches times data-parallel ranks, 3, got: 8
// MESH: stages and experts must be placed by a plan, got: pp=2
// ZERO: a shape must be like dp=2,tp=4,pp=2 zero=1 microbatches=8 1f1b, got: zero=4
// ABSENT: absent.json: cannot read the plan: No such file or directory
// SYNTAX: syntax.json: [3:0, byte=15]: Expected , or } after object property
// VERSION: version.json: expected version 1 at plan.version
// AXIS: axis.json: ops{{.}}0] must name axes of the mesh, got: "cp"
// ORIGIN: plan must place ops of this step, got origin: 77
// NAME: plan must be of this step: origin 0 is graph.contract, got: graph.add
// FACTOR: plan must name one of the 3 factors, got: 9
// STATE: plan must lay out 2 dimensions, got: 1

//--- syntax.json
{"version": 1

//--- version.json
{"version": 2, "mesh": [], "batch_axes": []}

//--- axis.json
{"version": 1, "mesh": [{"name": "tp", "size": 2, "kind": "rank"}], "batch_axes": [],
 "ops": [{"origin": 0, "op": "graph.contract", "factors": {"1": ["cp"]}}]}

//--- origin.json
{"version": 1, "mesh": [{"name": "tp", "size": 2, "kind": "rank"}], "batch_axes": [],
 "ops": [{"origin": 77, "op": "graph.contract", "factors": {"1": ["tp"]}}]}

//--- name.json
{"version": 1, "mesh": [{"name": "tp", "size": 2, "kind": "rank"}], "batch_axes": [],
 "ops": [{"origin": 0, "op": "graph.add", "factors": {"1": ["tp"]}}]}

//--- factor.json
{"version": 1, "mesh": [{"name": "tp", "size": 2, "kind": "rank"}], "batch_axes": [],
 "ops": [{"origin": 0, "op": "graph.contract", "factors": {"9": ["tp"]}}]}

//--- state.json
{"version": 1, "mesh": [{"name": "tp", "size": 2, "kind": "rank"}], "batch_axes": [],
 "states": [{"name": "w1", "layout": [["tp"]]}]}
