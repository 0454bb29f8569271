// RUN: dtcc-opt --split-input-file --exec-chunk-classifier=chunk-bytes=1024 %s | FileCheck %s
// RUN: dtcc-opt --split-input-file --exec-chunk-classifier=chunk-bytes=1024 --exec-split-accumulation %s | FileCheck %s --check-prefix=SPLIT
// RUN: dtcc-opt --split-input-file --exec-chunk-classifier=chunk-bytes=1024 --canonicalize %s | FileCheck %s --check-prefix=EVAL

// Two samples of 8 rows and 32 classes are 2048 bytes of logits: one chunk a sample.
// CHECK-LABEL: spmd.phase @microbatch
// CHECK: %[[X0:.*]] = graph.slice %{{.*}} [0, 0, 0] [1, 1, 1] : (tensor<2x8x16xf32>) -> tensor<1x8x16xf32>
// CHECK: graph.contract "btc,vc->btv" %[[X0]], %[[W:.*]] : (tensor<1x8x16xf32>, tensor<32x16xf32>) -> tensor<1x8x32xf32>
// CHECK: graph.cross_entropy_stats %{{.*}} : (tensor<1x8x32xf32>
// CHECK: graph.cross_entropy_grad
// CHECK: %[[DX0:.*]] = graph.contract "btv,vc->btc"
// CHECK: %[[DW0:.*]] = graph.contract "btv,btc->vc"
// CHECK: graph.slice %{{.*}} [1, 0, 0]
// CHECK: %[[DX1:.*]] = graph.contract "btv,vc->btc"
// CHECK: %[[DW1:.*]] = graph.contract "btv,btc->vc"
// CHECK: %[[DW:.*]] = graph.add %[[DW0]], %[[DW1]]
// CHECK: graph.concat %[[DX0]], %[[DX1]] {dim = 0 : i64}
// CHECK: spmd.accumulate %[[DW]] into @grads.0[0] : tensor<32x16xf32>

// SPLIT: %[[DW0:.*]] = graph.contract "btv,btc->vc"
// SPLIT-NEXT: spmd.accumulate %[[DW0]] into @grads.0[0] : tensor<32x16xf32>
// SPLIT: %[[DW1:.*]] = graph.contract "btv,btc->vc"
// SPLIT-NEXT: spmd.accumulate %[[DW1]] into @grads.0[0] again : tensor<32x16xf32>
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 512 x f32
spmd.bucket gradient @grads.0 : 512 x f32 of @params.0
spmd.bucket scalar @scalars : 16 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.view @params.0[0] : tensor<2x8x16xf32>
    %w = spmd.view @params.0[0] : tensor<32x16xf32>
    %labels = spmd.input "labels" of !spmd.tensor<2x8xi64, @mesh, [{}, {}]> : tensor<2x8xi64>
    %logits = graph.contract "btc,vc->btv" %x, %w : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
    %max, %sum, %target = graph.cross_entropy_stats %logits, %labels {classes = 32 : i64}
        : (tensor<2x8x32xf32>, tensor<2x8xi64>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
    %loss, %count, %lse = graph.cross_entropy_loss %max, %sum, %target, %labels
        : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x8xf32>)
    spmd.accumulate %loss into @scalars[0] : tensor<f32>
    %dlogits = graph.cross_entropy_grad %logits, %labels, %lse
        : (tensor<2x8x32xf32>, tensor<2x8xi64>, tensor<2x8xf32>) -> tensor<2x8x32xf32>
    %dx = graph.contract "btv,vc->btc" %dlogits, %w : (tensor<2x8x32xf32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
    %dw = graph.contract "btv,btc->vc" %dlogits, %x : (tensor<2x8x32xf32>, tensor<2x8x16xf32>) -> tensor<32x16xf32>
    %more = graph.add %dx, %x : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    %s = graph.reduce #graph<reduce_kind sum> %more [0, 1, 2] : (tensor<2x8x16xf32>) -> tensor<f32>
    spmd.accumulate %s into @scalars[1] : tensor<f32>
    spmd.accumulate %dw into @grads.0[0] : tensor<32x16xf32>
  }
}

// -----

// The logits of an evaluation have no gradient. The row that it reports is a sum over rows of which a mask leaves one: the
// mask and the zeros beside it have the size of the logits, and are made chunk by chunk too.
// EVAL-LABEL: spmd.phase @evaluate
// EVAL-NOT: tensor<2x8x32x
// EVAL: graph.broadcast %{{.*}} [0, 1] : (tensor<1x8xi1>) -> tensor<1x8x32xi1>
// EVAL-NOT: tensor<2x8x32x
// EVAL: graph.select %{{.*}} : (tensor<1x8x32xi1>, tensor<1x8x32xf32>, tensor<1x8x32xf32>) -> tensor<1x8x32xf32>
// EVAL-NOT: tensor<2x8x32x
// EVAL: graph.select
// EVAL: %[[ROW:.*]] = graph.add %{{.*}} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
// EVAL: spmd.accumulate %[[ROW]] into @scalars[2] : tensor<32xf32>
// EVAL-NOT: tensor<2x8x32x
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 512 x f32
spmd.bucket scalar @scalars : 48 x f32
spmd.program @step mesh @mesh {
  spmd.phase @evaluate {
    %x = spmd.view @params.0[0] : tensor<2x8x16xf32>
    %w = spmd.view @params.0[0] : tensor<32x16xf32>
    %labels = spmd.input "labels" of !spmd.tensor<2x8xi64, @mesh, [{}, {}]> : tensor<2x8xi64>
    %ignored = graph.constant dense<-100> : tensor<2x8xi64> : tensor<2x8xi64>
    %zeros = graph.constant dense<0.0> : tensor<2x8x32xf32> : tensor<2x8x32xf32>
    %counts = graph.compare ne %labels, %ignored : (tensor<2x8xi64>, tensor<2x8xi64>) -> tensor<2x8xi1>
    %mask = graph.broadcast %counts [0, 1] : (tensor<2x8xi1>) -> tensor<2x8x32xi1>
    %logits = graph.contract "btc,vc->btv" %x, %w : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
    %max, %sum, %target = graph.cross_entropy_stats %logits, %labels {classes = 32 : i64}
        : (tensor<2x8x32xf32>, tensor<2x8xi64>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
    %loss, %count, %lse = graph.cross_entropy_loss %max, %sum, %target, %labels
        : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x8xf32>)
    spmd.accumulate %loss into @scalars[0] : tensor<f32>
    %rows = graph.select %mask, %logits, %zeros
        : (tensor<2x8x32xi1>, tensor<2x8x32xf32>, tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
    %row = graph.reduce #graph<reduce_kind sum> %rows [0, 1] : (tensor<2x8x32xf32>) -> tensor<32xf32>
    spmd.accumulate %row into @scalars[2] : tensor<32xf32>
  }
}
