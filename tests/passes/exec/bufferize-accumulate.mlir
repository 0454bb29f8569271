// RUN: dtcc-opt --exec-bufferize %s | FileCheck %s

// %b is made before %a overwrites the bucket: it cannot add itself there, and is added behind. %c can.
// CHECK: exec.view @fused_0[0]
// CHECK-NEXT: exec.kernel @fused_1 ins({{.*}}) outs({{.*}} : memref<4xf32>){{$}}
// CHECK: exec.view @grads.0[64]
// CHECK-NEXT: exec.kernel @fused_2 ins({{.*}}) outs({{.*}} : memref<4xf32>){{$}}
// CHECK: exec.view @grads.0[64]
// CHECK-NEXT: exec.kernel @accumulate_0 ins({{.*}}) outs({{.*}} : memref<4xf32>) {accumulates = array<i1: true>}
// CHECK: exec.view @grads.0[64]
// CHECK-NEXT: exec.kernel @fused_3 ins({{.*}}) outs({{.*}} : memref<4xf32>) {accumulates = array<i1: true>}
// A matrix to which its transpose is added is not made in the bucket: the second sum would read the first.
// CHECK: exec.view @fused_4[0] : memref<2x2xf32>
// CHECK-NEXT: exec.kernel @fused_5 ins({{.*}}) outs({{.*}} : memref<2x2xf32>){{$}}
// CHECK-NEXT: %[[MATRIX:.*]] = exec.view @fused_4[0] : memref<2x2xf32>
// CHECK-NEXT: %[[SUM:.*]] = exec.view @grads.0[0] : memref<2x2xf32>
// CHECK-NEXT: exec.copy ins(%[[MATRIX]] : memref<2x2xf32>) outs(%[[SUM]] : memref<2x2xf32>)
// CHECK-NEXT: exec.view @fused_4[0] : memref<2x2xf32, strided<[1, 2]>>
// CHECK: exec.kernel @accumulate_1 ins({{.*}}strided<[1, 2]>>) outs({{.*}}) {accumulates = array<i1: true>}
// Parts that are joined behind a first term, but made before it, are not added where they are made.
// CHECK: exec.view @[[JOINED:stack_[0-9]+]][0] : memref<2xf32>
// CHECK-NEXT: exec.kernel @fused_6 ins({{.*}}) outs({{.*}} : memref<2xf32>){{$}}
// CHECK: exec.view @[[JOINED]][8] : memref<2xf32>
// CHECK-NEXT: exec.kernel @fused_7 ins({{.*}}) outs({{.*}} : memref<2xf32>){{$}}
// CHECK: exec.view @grads.0[32] : memref<2x2xf32>
// CHECK-NEXT: exec.kernel @fused_8 ins({{.*}}) outs({{.*}} : memref<2x2xf32>){{$}}
// CHECK: exec.view @grads.0[32] : memref<2x2xf32>
// CHECK-NEXT: exec.kernel @accumulate_2 ins({{.*}}) outs({{.*}} : memref<2x2xf32>) {accumulates = array<i1: true>}
// A join of a part that something else reads is not made in the bucket: more is added there.
// CHECK: exec.view @[[TWICE:stack_[0-9]+]][0] : memref<2xf32>
// CHECK-NEXT: exec.kernel @fused_9
// CHECK: exec.view @[[TWICE]][0] : memref<2x2xf32>
// CHECK-NEXT: exec.view @grads.0[96] : memref<2x2xf32>
// CHECK-NEXT: exec.copy
// CHECK: exec.kernel @fused_10 ins({{.*}}) outs({{.*}} : memref<2x2xf32>) {accumulates = array<i1: true>}
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 32 x f32
spmd.bucket gradient @grads.0 : 32 x f32 of @params.0
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.view @params.0[0] : tensor<4xf32>
    %b = exec.fused(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%v: tensor<4xf32>):
      %y = graph.exp %v : tensor<4xf32>
      exec.yield %y : tensor<4xf32>
    }
    %a = exec.fused(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%v: tensor<4xf32>):
      %y = graph.neg %v : tensor<4xf32>
      exec.yield %y : tensor<4xf32>
    }
    spmd.accumulate %a into @grads.0[16] : tensor<4xf32>
    spmd.accumulate %b into @grads.0[16] again : tensor<4xf32>
    %c = exec.fused(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%v: tensor<4xf32>):
      %y = graph.tanh %v : tensor<4xf32>
      exec.yield %y : tensor<4xf32>
    }
    spmd.accumulate %c into @grads.0[16] again : tensor<4xf32>
    %square = spmd.view @params.0[0] : tensor<2x2xf32>
    %g = exec.fused(%square) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
    ^bb0(%v: tensor<2x2xf32>):
      %y = graph.sin %v : tensor<2x2xf32>
      exec.yield %y : tensor<2x2xf32>
    }
    spmd.accumulate %g into @grads.0[0] : tensor<2x2xf32>
    %t = graph.transpose %g [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    spmd.accumulate %t into @grads.0[0] again : tensor<2x2xf32>
    %row = spmd.view @params.0[0] : tensor<2xf32>
    %p = exec.fused(%row) : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%v: tensor<2xf32>):
      %y = graph.exp %v : tensor<2xf32>
      exec.yield %y : tensor<2xf32>
    }
    %q = exec.fused(%row) : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%v: tensor<2xf32>):
      %y = graph.neg %v : tensor<2xf32>
      exec.yield %y : tensor<2xf32>
    }
    %first = exec.fused(%square) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
    ^bb0(%v: tensor<2x2xf32>):
      %y = graph.cos %v : tensor<2x2xf32>
      exec.yield %y : tensor<2x2xf32>
    }
    spmd.accumulate %first into @grads.0[8] : tensor<2x2xf32>
    %joined = graph.stack %p, %q {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    spmd.accumulate %joined into @grads.0[8] again : tensor<2x2xf32>
    %r = exec.fused(%row) : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%v: tensor<2xf32>):
      %y = graph.tanh %v : tensor<2xf32>
      exec.yield %y : tensor<2xf32>
    }
    %twice = graph.stack %r, %r {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    spmd.accumulate %twice into @grads.0[24] : tensor<2x2xf32>
    %more = exec.fused(%square) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
    ^bb0(%v: tensor<2x2xf32>):
      %y = graph.sqrt %v : tensor<2x2xf32>
      exec.yield %y : tensor<2x2xf32>
    }
    spmd.accumulate %more into @grads.0[24] again : tensor<2x2xf32>
  }
}
