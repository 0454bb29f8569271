// Early updates stand in the backward pass: each behind the command that completes its gradient and behind the last that
// reads its parameter, or, where a collective reduces the gradient, behind the work up to the next reduction.
// RUN: dtcc-opt %s -split-input-file -exec-advance-updates -cse | FileCheck %s
// RUN: dtcc-opt %s -split-input-file -exec-advance-updates -exec-assign-streams -exec-plan-arena -exec-verify | FileCheck %s --check-prefix=ARENA

spmd.mesh @mesh [#spmd.axis<"mb", 1, time>, #spmd.axis<"dp", 1, rank>]
exec.program @step mesh @mesh attributes {graph.early} {
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @lr : 4 in @state persistent
  exec.buffer @loss : 4 in @state persistent
  exec.buffer @number : 8 in @state persistent
  exec.buffer @told : 4 in @state persistent
  exec.buffer @params.0 : 64 in @state persistent
  exec.buffer @params.1 : 64 in @state persistent
  // One gradient at a time, beside the scale and the two sums of squares.
  // ARENA: exec.arena @activations : 192
  exec.buffer @grads.0 : 64 in @activations
  exec.buffer @grads.1 : 64 in @activations
  exec.buffer @scale : 4 in @activations
  exec.buffer @squares : 4 in @activations
  // CHECK: exec.phase @microbatch
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<4x4xf32>
    %p0 = exec.view @params.0[0] : memref<4x4xf32>
    %p1 = exec.view @params.1[0] : memref<4x4xf32>
    %g0 = exec.view @grads.0[0] : memref<4x4xf32>
    %g1 = exec.view @grads.1[0] : memref<4x4xf32>
    %loss = exec.view @loss[0] : memref<f32>
    // CHECK: exec.fill
    // CHECK: exec.library "mean_scale" {{.*}} {of_update}
    exec.fill 1.000000e+00 : f32 outs(%loss : memref<f32>)
    // The parameter is read behind its gradient, so the update follows the reader.
    // CHECK: exec.library "matmul" ins(%[[X:.*]], %[[X]]
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%g1 : memref<4x4xf32>) [0, 0]
    // CHECK-NOT: "sgd"
    // CHECK: exec.library "sum_squares" {{.*}} [0] {of_update}
    // CHECK: exec.library "matmul" ins(%[[X]], %{{.*}} outs(%[[X]]
    exec.library "matmul" ins(%x, %p1 : memref<4x4xf32>, memref<4x4xf32>) outs(%x : memref<4x4xf32>) [0, 0]
    // CHECK: %[[P1:.*]] = exec.view @params.1[0] : memref<16xf32>
    // CHECK: exec.library "sgd" {{.*}} outs(%[[P1]] : memref<16xf32>) {{.*}} {of_update
    // CHECK: exec.library "matmul"
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%g0 : memref<4x4xf32>) [0, 0]
    // CHECK: exec.library "sgd"
    // CHECK: exec.library "sum_squares" {{.*}} [1] {of_update
  }
  // A command that shares no buffer with the phase before stays, and so does what depends on it.
  // CHECK: exec.phase @update
  // CHECK: exec.fill
  // CHECK: exec.library "grad_scale"
  exec.phase @update {
    %lr = exec.view @lr[0] : memref<f32>
    %number = exec.view @number[0] : memref<i64>
    %loss = exec.view @loss[0] : memref<f32>
    %told = exec.view @told[0] : memref<f32>
    %scale = exec.view @scale[0] : memref<f32>
    %squares = exec.view @squares[0] : memref<f32>
    %g0 = exec.view @grads.0[0] : memref<16xf32>
    %g1 = exec.view @grads.1[0] : memref<16xf32>
    %p0 = exec.view @params.0[0] : memref<16xf32>
    %p1 = exec.view @params.1[0] : memref<16xf32>
    exec.library "mean_scale" ins(%loss, %loss : memref<f32>, memref<f32>) outs(%scale : memref<f32>) []
    exec.library "sgd" ins(%g1, %scale, %lr, %number : memref<16xf32>, memref<f32>, memref<f32>, memref<i64>) outs(%p1 : memref<16xf32>) [1, unit, 0.000000e+00 : f64, 0.000000e+00 : f64, 0, 0] {updates}
    exec.library "sgd" ins(%g0, %scale, %lr, %number : memref<16xf32>, memref<f32>, memref<f32>, memref<i64>) outs(%p0 : memref<16xf32>) [0, unit, 0.000000e+00 : f64, 0.000000e+00 : f64, 0, 0] {updates}
    exec.library "sum_squares" ins(%g1 : memref<16xf32>) outs(%squares : memref<f32>) [0]
    exec.library "sum_squares" ins(%g0 : memref<16xf32>) outs(%squares : memref<f32>) [1] {updates}
    exec.fill 1.000000e+00 : f32 outs(%told : memref<f32>)
    exec.library "grad_scale" ins(%squares, %told : memref<f32>, memref<f32>) outs(%loss, %scale : memref<f32>, memref<f32>) [0.000000e+00 : f64]
  }
}

// -----

// The update of what is reduced waits behind the next product, not at once.
spmd.mesh @mesh [#spmd.axis<"mb", 1, time>, #spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh attributes {graph.early} {
  exec.communicator @over.dp over ["dp"]
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @lr : 8 in @state persistent
  exec.buffer @params.0 : 64 in @state persistent
  exec.buffer @params.1 : 64 in @state persistent
  // ARENA: exec.arena @activations : 128
  exec.buffer @grads.0 : 64 in @activations
  exec.buffer @grads.1 : 64 in @activations
  // CHECK: exec.phase @microbatch
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<4x4xf32>
    %g0 = exec.view @grads.0[0] : memref<4x4xf32>
    %g1 = exec.view @grads.1[0] : memref<4x4xf32>
    %f0 = exec.view @grads.0[0] : memref<16xf32>
    %f1 = exec.view @grads.1[0] : memref<16xf32>
    // CHECK: exec.library "matmul"
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%g1 : memref<4x4xf32>) [0, 0]
    // CHECK: exec.collective all_reduce
    exec.collective all_reduce sum on @over.dp ins(%f1 : memref<16xf32>) outs(%f1 : memref<16xf32>) {ofParameters}
    // CHECK-NOT: "sgd"
    // CHECK: exec.library "matmul"
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%g0 : memref<4x4xf32>) [0, 0]
    // CHECK: exec.library "sgd"
    // CHECK: exec.collective all_reduce
    exec.collective all_reduce sum on @over.dp ins(%f0 : memref<16xf32>) outs(%f0 : memref<16xf32>) {ofParameters}
    // CHECK: exec.library "sgd"
  }
  // CHECK: exec.phase @update
  // CHECK-NOT: exec.library
  exec.phase @update {
    %lr = exec.view @lr[0] : memref<f32>
    %number = exec.view @lr[0] : memref<i64>
    %g0 = exec.view @grads.0[0] : memref<16xf32>
    %g1 = exec.view @grads.1[0] : memref<16xf32>
    %p0 = exec.view @params.0[0] : memref<16xf32>
    %p1 = exec.view @params.1[0] : memref<16xf32>
    exec.library "sgd" ins(%g1, %lr, %lr, %number : memref<16xf32>, memref<f32>, memref<f32>, memref<i64>) outs(%p1 : memref<16xf32>) [1, unit, 0.000000e+00 : f64, 0.000000e+00 : f64, 0, 0] {updates}
    exec.library "sgd" ins(%g0, %lr, %lr, %number : memref<16xf32>, memref<f32>, memref<f32>, memref<i64>) outs(%p0 : memref<16xf32>) [0, unit, 0.000000e+00 : f64, 0.000000e+00 : f64, 0, 0] {updates}
  }
}
