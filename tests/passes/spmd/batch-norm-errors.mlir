// A plan with another number of micro-batches would train another model.
// RUN: sed s/GROUPS/1/ %S/Inputs/batch-norm.mlir | not dtcc-opt --graph-differentiate --spmd-apply-plan="parallelism=dp=2,microbatches=2" 2>&1 | FileCheck %s --check-prefix=MORE
// RUN: sed s/GROUPS/4/ %S/Inputs/batch-norm.mlir | not dtcc-opt --graph-differentiate --spmd-apply-plan="parallelism=dp=1,microbatches=2" 2>&1 | FileCheck %s --check-prefix=LESS
// Running statistics are those of micro-batches, not of ranks.
// RUN: sed s/GROUPS/2/ %S/Inputs/batch-norm.mlir | not dtcc-opt --graph-differentiate --spmd-apply-plan="parallelism=dp=2,microbatches=1" 2>&1 | FileCheck %s --check-prefix=RANKS

// MORE: error: batch statistics of 1 group cannot be taken where the samples are split by {mb=2, dp=2}
// LESS: error: batch statistics of 4 groups cannot be taken where the samples are split by {mb=2}
// RANKS: error: batch statistics of 2 groups cannot be taken where the samples are split by {dp=2}
