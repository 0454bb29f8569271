// Units are chosen in a distributed step.
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-form-units 2>&1 | FileCheck %s
// CHECK: needs a distributed function @step and an spmd.mesh: run spmd-apply-plan first
