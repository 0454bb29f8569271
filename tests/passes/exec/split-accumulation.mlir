// RUN: dtcc-opt --exec-split-accumulation %s | FileCheck %s

// Each term of the sum is accumulated where it is made; the sum is never made.
// CHECK: %[[A:.*]] = graph.neg
// CHECK-NEXT: dist.accumulate %[[A]] into @grads.0[16] : tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = graph.exp
// CHECK-NEXT: dist.accumulate %[[B]] into @grads.0[16] again : tensor<4xf32>
// CHECK-NOT: graph.add
dist.mesh @mesh [#dist.axis<"dp", 1, rank>]
dist.bucket parameter @params.0 : 32 x f32
dist.bucket gradient @grads.0 : 32 x f32 of @params.0
dist.program @step mesh @mesh {
  dist.phase @microbatch {
    %x = dist.view @params.0[0] : tensor<4xf32>
    %a = graph.neg %x : tensor<4xf32>
    %b = graph.exp %x : tensor<4xf32>
    %s = graph.add %b, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dist.accumulate %s into @grads.0[16] : tensor<4xf32>
  }
}
