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
dist.mesh @mesh [#dist.axis<"dp", 1, rank>]
dist.bucket parameter @params.0 : 32 x f32
dist.bucket gradient @grads.0 : 32 x f32 of @params.0
dist.program @step mesh @mesh {
  dist.phase @microbatch {
    %x = dist.view @params.0[0] : tensor<4xf32>
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
    dist.accumulate %a into @grads.0[16] : tensor<4xf32>
    dist.accumulate %b into @grads.0[16] again : tensor<4xf32>
    %c = exec.fused(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%v: tensor<4xf32>):
      %y = graph.tanh %v : tensor<4xf32>
      exec.yield %y : tensor<4xf32>
    }
    dist.accumulate %c into @grads.0[16] again : tensor<4xf32>
  }
}
