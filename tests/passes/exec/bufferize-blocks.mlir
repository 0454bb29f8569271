// RUN: dtcc-opt %s -exec-bufferize -cse | FileCheck %s
// RUN: dtcc-opt %s -exec-bufferize -cse -exec-fold-dimensions | FileCheck %s --check-prefix=FOLDED
// A gathered buffer whose shards are made of parts: each part starts where the rank's shard does.

spmd.mesh @mesh [#spmd.axis<"dp", 4, rank>]

spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.input "x" of !spmd.tensor<4x2xf32, @mesh, [{dp}, {}]> : tensor<1x2xf32>
    %a, %b = graph.unstack %x {dim = 1 : i64} : (tensor<1x2xf32>) -> (tensor<1xf32>, tensor<1xf32>)
    // The part of a shard of one row: its stride is the extent of the shard.
    // CHECK: exec.copy ins(%{{.*}} : memref<1xf32>) outs(%{{.*}} : memref<1xf32, strided<[2]>>)
    // FOLDED: exec.view @all_gather_1[0] block 0 of @over.dp : memref<1xf32, strided<[2]>>
    // FOLDED: exec.view @all_gather_1[4] block 0 of @over.dp : memref<1xf32, strided<[2]>>
    %turned = graph.stack %b, %a {dim = 1 : i64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<1x2xf32>
    %whole = spmd.all_gather %turned dim 0 over ["dp"] : tensor<1x2xf32> -> tensor<4x2xf32>
    // Halves of a shard of two rows: no dimension of theirs has its extent, so one of one cell does.
    %rows = spmd.input "rows" of !spmd.tensor<8x3xf32, @mesh, [{dp}, {}]> : tensor<2x3xf32>
    %c, %d = graph.unstack %rows {dim = 0 : i64} : (tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
    // CHECK: exec.view @all_gather_0[0] block 0 of @over.dp : memref<1x3xf32, strided<[6, 1]>>
    // CHECK: exec.view @all_gather_0[12] block 0 of @over.dp : memref<1x3xf32, strided<[6, 1]>>
    // FOLDED: exec.view @all_gather_0[0] block 0 of @over.dp : memref<1x3xf32, strided<[6, 1]>>
    %swapped = graph.stack %d, %c {dim = 0 : i64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %all = spmd.all_gather %swapped dim 0 over ["dp"] : tensor<2x3xf32> -> tensor<8x3xf32>
  }
}
