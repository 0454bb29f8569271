// RUN: not dtcc-opt --exec-generate-kernels --split-input-file %s 2>&1 | FileCheck %s

// CHECK: error: 'graph.contract' op is not an op that a kernel can be generated for
exec.func @product buffers [memref<4x4xf32>, memref<4x4xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4x4xf32>):
  %y = graph.contract "ab,bc->ac" %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  exec.yield %y : tensor<4x4xf32>
}

// -----

// CHECK: fused ops do not form one kernel: their dimensions have no common loops
exec.func @rowsAndColumns buffers [memref<4x4xf32>, memref<4xf32>, memref<4xf32>] accumulate [0, 0] in_place [-1, -1] {
^bb0(%x: tensor<4x4xf32>):
  %a = graph.reduce #graph<reduce_kind sum> %x [0] : (tensor<4x4xf32>) -> tensor<4xf32>
  %b = graph.reduce #graph<reduce_kind sum> %x [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  exec.yield %a, %b : tensor<4xf32>, tensor<4xf32>
}
