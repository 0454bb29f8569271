// RUN: sed 's/"axis": "pp"/"axis": "mb"/' %S/Inputs/mlp-pipeline.json > %t-axis.json
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t-axis.json" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: sed 's/\["mb", "dp"\]/["mb", "pp"]/' %S/Inputs/mlp-pipeline.json > %t-batch.json
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t-batch.json" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: sed 's/\[3\]/[3, 3]/' %S/Inputs/mlp-pipeline.json > %t-cuts.json
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t-cuts.json" 2>&1 | FileCheck %s --check-prefix=CUTS
// RUN: sed 's/\[3\]/[2, 4]/' %S/Inputs/mlp-pipeline.json > %t-many.json
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t-many.json" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: sed 's/"gpipe"/"dualpipe"/' %S/Inputs/mlp-pipeline.json > %t-name.json
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t-name.json" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/"gpipe"/[["0F0","0F1","0B0","0B1"],["1F0","1B1"]]/' %S/Inputs/mlp-pipeline.json > %t-order.json
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t-order.json" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/"gpipe"/[["0F0","0B0","0F1","0B1"],["1F0","1F1","1B0","1B1"]]/' %S/Inputs/mlp-pipeline.json > %t-hang.json
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t-hang.json" 2>&1 | FileCheck %s --check-prefix=HANG

// AXIS: pipeline axis must be a rank axis of the mesh, got: "mb"
// BATCH: nothing can be split over the axis of the pipeline, got: "pp"
// CUTS: pipeline cuts must ascend from 1, got: 3
// MANY: the schedule must be of the 3 stages of the plan, got: 2
// NAME: expected gpipe, 1f1b, {{.*}}, or lists of actions at plan.pipeline.schedule
// ORDER: rank 1: 1B1 must stand after the forward of its micro-batch
// HANG: the schedule never ends: rank 0 waits in 0B0 for stage 1, rank 1 waits in 1F1 for stage 0
