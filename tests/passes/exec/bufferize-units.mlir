// Shares in memory: what a unit is gathered into and what its gradients are made in live no longer than they are used.
// RUN: dtcc-opt %source/tests/passes/spmd/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,microbatches=2,zero=3" --spmd-form-units="latency-bytes=16" --spmd-lower-to-program --spmd-place-units --exec-fuse --exec-bufferize --exec-plan-arena --exec-verify | FileCheck %s

// The parameters, gradients and two slots of w1, b1, w2 (24, 6 and 54 elements, padded to 32, 32 and 64), each a half.
// CHECK: exec.arena @activations
// CHECK: exec.buffer @work.2 : 256 in @activations
// CHECK: exec.buffer @params.0 : 64 in @state
// CHECK: exec.buffer @params.2 : 128 in @state
// CHECK: exec.buffer @grads.2 : 128 in @state

// CHECK: exec.phase @microbatch repeat 2
// The product reads the gathered weights where they were gathered.
// CHECK: exec.collective all_gather sum on @over.dp ins(%{{.*}} : memref<16xf32>) outs(%{{.*}} : memref<32xf32>)
// CHECK: exec.library "matmul"
// The 54 gradients of w2 overwrite, in every micro-batch; the 10 cells behind them become zero; the share of the sum is
// added to what is kept of the first micro-batch.
// CHECK: %[[G:.*]] = exec.view @work.2[0] : memref<1x6x9xf32>
// CHECK: exec.library "matmul" {{.*}} outs(%[[G]] : memref<1x6x9xf32>) [0, 0]
// CHECK: %[[GAP:.*]] = exec.view @work.2[216] : memref<10xf32>
// CHECK: exec.fill 0.000000e+00 : f32 outs(%[[GAP]] : memref<10xf32>)
// CHECK: %[[WHOLE:.*]] = exec.view @work.2[0] : memref<64xf32>
// CHECK: %[[MINE:.*]] = exec.view @work.2[0] block 0 of @over.dp : memref<32xf32>
// CHECK: exec.collective reduce_scatter sum on @over.dp ins(%[[WHOLE]] : memref<64xf32>) outs(%[[MINE]] : memref<32xf32>)
// CHECK: %[[KEPT:.*]] = exec.view @grads.2[0] : memref<32xf32>
// CHECK: exec.kernel @accumulate_{{[0-9]+}} ins({{.*}}) outs(%[[KEPT]] : memref<32xf32>) {accumulates = array<i1: true>}
