// RUN: dtcc-opt --exec-split-accumulation %s | FileCheck %s

// Each term of the sum is accumulated where it is made; the sum is never made.
// CHECK: %[[A:.*]] = graph.neg
// CHECK-NEXT: spmd.accumulate %[[A]] into @grads.0[16] : tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = graph.exp
// CHECK-NEXT: spmd.accumulate %[[B]] into @grads.0[16] again : tensor<4xf32>
// CHECK-NOT: graph.add
// One value that is two terms, and two values of one op, are accumulated in turn: the first overwrites.
// CHECK: %[[C:.*]] = graph.tanh
// CHECK-NEXT: spmd.accumulate %[[C]] into @grads.0[0] : tensor<4xf32>
// CHECK-NEXT: spmd.accumulate %[[C]] into @grads.0[0] again : tensor<4xf32>
// CHECK: %[[D:.*]]:2 = graph.unstack
// CHECK-NEXT: spmd.accumulate %[[D]]#0 into @grads.0[8] : tensor<4xf32>
// CHECK-NEXT: spmd.accumulate %[[D]]#1 into @grads.0[8] again : tensor<4xf32>
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
    %c = graph.tanh %x : tensor<4xf32>
    %twice = graph.add %c, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    spmd.accumulate %twice into @grads.0[0] : tensor<4xf32>
    %pair = spmd.view @params.0[24] : tensor<2x4xf32>
    %d:2 = graph.unstack %pair {dim = 0 : i64} : (tensor<2x4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %both = graph.add %d#0, %d#1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    spmd.accumulate %both into @grads.0[8] : tensor<4xf32>
  }
}
