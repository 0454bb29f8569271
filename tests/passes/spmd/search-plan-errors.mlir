// RUN: not dtcc-opt %S/Inputs/mlp.mlir --spmd-search-plan="ranks=3 dp=3" 2>&1 | FileCheck %s
// CHECK: error: a batch of 8 samples must divide into dp=3 parts: bind a batch that is a multiple of 3, or choose another mesh
