// RUN: dtcc-opt --exec-split-accumulation %s | FileCheck %s

// Each term of the sum is accumulated where it is made; the sum is never made.
// CHECK: %[[A:.*]] = graph.neg
// CHECK-NEXT: spmd.accumulate %[[A]] into @grads.0[16] : tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = graph.exp
// CHECK-NEXT: spmd.accumulate %[[B]] into @grads.0[16] again : tensor<4xf32>
// CHECK-NOT: graph.add
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 32 x f32
spmd.bucket gradient @grads.0 : 32 x f32 of @params.0
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.view @params.0[0] : tensor<4xf32>
    %a = graph.neg %x : tensor<4xf32>
    %b = graph.exp %x : tensor<4xf32>
    %s = graph.add %b, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    spmd.accumulate %s into @grads.0[16] : tensor<4xf32>
  }
}
