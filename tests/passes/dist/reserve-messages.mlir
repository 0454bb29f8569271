// RUN: dtcc-opt %S/Inputs/skip.mlir --graph-differentiate --dist-apply-plan="plan=%S/Inputs/skip-pipeline.json" --dist-lower-to-program --dist-reserve-messages | FileCheck %s

// Two stages a rank. The first makes for two micro-batches what the last, on the other rank, takes after the second
// has passed: with room for one message they would wait for each other. What goes to the next stage needs no more.
// CHECK: dist.program @step.0
// CHECK: dist.phase @forward.0
// CHECK: dist.send %{{.*}} to 1 over "pp" channel 0 room 2 : tensor<2x4xf32>
// CHECK: dist.phase @forward.2
// CHECK: dist.send %{{.*}} to 1 over "pp" channel 1 : tensor<2x4xf32>
// CHECK: dist.program @step.1
// CHECK: dist.phase @forward.3
// CHECK: dist.receive from 0 over "pp" channel 0
