// RUN: dtcc-opt %S/Inputs/skip.mlir --graph-differentiate --spmd-apply-plan="plan=%S/Inputs/skip-pipeline.json" --spmd-lower-to-program --spmd-reserve-messages | FileCheck %s

// Two stages a rank. The first makes for two micro-batches what the last, on the other rank, takes after the second
// has passed: with room for one message they would wait for each other. What goes to the next stage needs no more.
// CHECK: spmd.program @step.0
// CHECK: spmd.phase @forward.0
// CHECK: spmd.send %{{.*}} to 1 over "pp" channel 0 room 2 : tensor<2x4xf32>
// CHECK: spmd.phase @forward.2
// CHECK: spmd.send %{{.*}} to 1 over "pp" channel 1 : tensor<2x4xf32>
// CHECK: spmd.program @step.1
// CHECK: spmd.phase @forward.3
// CHECK: spmd.receive from 0 over "pp" channel 0
