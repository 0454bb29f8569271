// Units are chosen in a distributed step.
// RUN: not dtcc-opt %S/Inputs/mlp.mlir --dist-form-units 2>&1 | FileCheck %s
// CHECK: needs a distributed function @step and a dist.mesh: run dist-apply-plan first
