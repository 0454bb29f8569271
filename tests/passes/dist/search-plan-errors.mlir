// RUN: not dtcc-opt %S/Inputs/mlp.mlir --dist-search-plan="ranks=3 dp=3" 2>&1 | FileCheck %s
// CHECK: error: no mesh of 3 ranks splits a batch of 8 examples with dp=3 and tp=0 (0: any); bind another batch or choose another mesh
