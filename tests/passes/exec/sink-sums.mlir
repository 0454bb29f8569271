// Shares of gradients that micro-batches add up: each sum waits behind the work of the next unit, not at once.
// RUN: dtcc-opt %s -exec-assign-streams | FileCheck %s
// RUN: dtcc-opt %s -exec-assign-streams -exec-plan-arena -exec-verify | FileCheck %s --check-prefix=ARENA

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
exec.func @add buffers [memref<8xf32>, memref<8xf32>] accumulate [2] in_place [-1] {
^bb0(%x: tensor<8xf32>):
  exec.yield %x : tensor<8xf32>
}
exec.program @step mesh @mesh {
  exec.communicator @over.dp over ["dp"]
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @grads.0 : 32 in @state persistent
  exec.buffer @grads.1 : 32 in @state persistent
  exec.buffer @grads.2 : 32 in @state persistent
  // While one is reduced, the next is made.
  // ARENA: exec.arena @activations : 128
  exec.buffer @work.0 : 64 in @activations
  exec.buffer @work.1 : 64 in @activations
  exec.buffer @work.2 : 64 in @activations
  exec.phase @microbatch repeat 2 {
    %x = exec.view @x[0] : memref<4x4xf32>
    %g0 = exec.view @grads.0[0] : memref<8xf32>
    %g1 = exec.view @grads.1[0] : memref<8xf32>
    %g2 = exec.view @grads.2[0] : memref<8xf32>
    %w0 = exec.view @work.0[0] : memref<4x4xf32>
    %w1 = exec.view @work.1[0] : memref<4x4xf32>
    %w2 = exec.view @work.2[0] : memref<4x4xf32>
    %f0 = exec.view @work.0[0] : memref<16xf32>
    %f1 = exec.view @work.1[0] : memref<16xf32>
    %f2 = exec.view @work.2[0] : memref<16xf32>
    %s0 = exec.view @work.0[0] block 0 of @over.dp : memref<8xf32>
    %s1 = exec.view @work.1[0] block 0 of @over.dp : memref<8xf32>
    %s2 = exec.view @work.2[0] block 0 of @over.dp : memref<8xf32>
    // CHECK: exec.library "matmul"
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%w0 : memref<4x4xf32>) [0, 0]
    // CHECK-NEXT: %[[FIRST:.*]] = exec.collective reduce_scatter {{.*}}stream = 1
    exec.collective reduce_scatter sum on @over.dp ins(%f0 : memref<16xf32>) outs(%s0 : memref<8xf32>)
    // CHECK-NEXT: exec.library "matmul"
    // CHECK-NOT: after
    // CHECK: exec.kernel @add {{.*}}outs(%[[G0:[^ ]*]] {{.*}}after(%[[FIRST]])
    exec.kernel @add ins(%s0 : memref<8xf32>) outs(%g0 : memref<8xf32>) {accumulates = array<i1: true>}
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%w1 : memref<4x4xf32>) [0, 0]
    // CHECK-NEXT: %[[SECOND:.*]] = exec.collective reduce_scatter {{.*}}stream = 1
    exec.collective reduce_scatter sum on @over.dp ins(%f1 : memref<16xf32>) outs(%s1 : memref<8xf32>)
    // CHECK-NEXT: exec.library "matmul"
    // CHECK: exec.kernel @add {{.*}}after(%[[SECOND]])
    exec.kernel @add ins(%s1 : memref<8xf32>) outs(%g1 : memref<8xf32>) {accumulates = array<i1: true>}
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%w2 : memref<4x4xf32>) [0, 0]
    // Nothing is left to hide the last.
    // CHECK-NEXT: exec.collective reduce_scatter
    // CHECK-NEXT: exec.kernel @add
    exec.collective reduce_scatter sum on @over.dp ins(%f2 : memref<16xf32>) outs(%s2 : memref<8xf32>)
    exec.kernel @add ins(%s2 : memref<8xf32>) outs(%g2 : memref<8xf32>) {accumulates = array<i1: true>}
  }
}
