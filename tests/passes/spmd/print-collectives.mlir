// What a plan communicates, exactly. ZeRO-1: a reduce-scatter and an all-gather of the bucket, and no all-reduce of it.
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,microbatches=2,zero=1" --spmd-lower-to-program --spmd-print-collectives -o /dev/null | FileCheck %s --check-prefix=ZERO --match-full-lines
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,microbatches=2" --spmd-lower-to-program --spmd-print-collectives -o /dev/null | FileCheck %s --check-prefix=DATA --match-full-lines
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-classes.json" --spmd-lower-to-program --spmd-print-collectives -o /dev/null | FileCheck %s --check-prefix=CLASSES --match-full-lines

// ZERO: update all_reduce over dp (2 ranks): 2 x, 12 bytes
// ZERO-NEXT: update reduce_scatter over dp (2 ranks): 1 x, 512 bytes
// ZERO-NEXT: update all_gather over dp (2 ranks): 1 x, 512 bytes
// ZERO-NOT: {{.}}

// DATA: update all_reduce over dp (2 ranks): 2 x, 456 bytes
// DATA-NOT: {{.}}

// Two micro-batches of 4 rows: a maximum, a sum and a target a row, and the input gradient 4x6.
// CLASSES: microbatch all_reduce over tp (2 ranks): 8 x, 288 bytes
// CLASSES-NEXT: update all_reduce over tp (2 ranks): 1 x, 4 bytes
// CLASSES-NOT: {{.}}
