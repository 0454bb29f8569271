// RUN: sed -e 's/"gpipe"/"interleaved:2"/' -e 's/\[3\]/[1, 3, 4]/' %S/Inputs/mlp-pipeline.json > %t.json
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t.json" --spmd-lower-to-program -o %t
// RUN: FileCheck %s --check-prefix=APART < %t
// RUN: dtcc-opt %t --spmd-merge-channels | FileCheck %s
// RUN: dtcc-opt %S/Inputs/skip.mlir --graph-differentiate --spmd-apply-plan="plan=%S/Inputs/skip-pipeline.json" --spmd-lower-to-program --spmd-merge-channels | FileCheck %s --check-prefix=ODD

// Two virtual stages a rank. The first rank has three channels to the second: activations of two stages, gradients of
// one. All three have their messages in one order.
// APART:     spmd.program @step.0
// APART:     spmd.phase @forward.0
// APART:     spmd.send %{{.*}} to 1 over "pp" channel 0
// APART:     spmd.phase @forward.2
// APART:     spmd.send %{{.*}} to 1 over "pp" channel 1
// APART:     spmd.phase @backward.2
// APART:     spmd.send %{{.*}} to 1 over "pp" channel 2
// CHECK-NOT: channel {{[1-9]}}
// CHECK:     spmd.program @step.1
// CHECK-COUNT-3: spmd.receive from 0 over "pp" channel 0
// CHECK-NOT: channel {{[1-9]}}

// What skips stages is taken in another order than it is sent.
// ODD: spmd.send %{{.*}} to 1 over "pp" channel 0
// ODD: spmd.send %{{.*}} to 1 over "pp" channel 1
