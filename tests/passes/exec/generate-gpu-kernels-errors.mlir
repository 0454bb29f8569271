// RUN: not dtcc-opt --exec-generate-gpu-kernels --split-input-file %s 2>&1 | FileCheck %s

// CHECK: error: 'graph.contract' op is not an op that a kernel can be generated for
exec.func @product buffers [memref<4x4xf32>, memref<4x4xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4x4xf32>):
  %y = graph.contract "ab,bc->ac" %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  exec.yield %y : tensor<4x4xf32>
}

// -----

// CHECK: error: 'graph.iota' op works on a shard, but no mesh says where it lies
exec.func @shard buffers [memref<8xi64>] accumulate [0] in_place [-1] {
  %y = graph.iota {dim = 0 : i64, offset_axes = ["tp"]} : tensor<8xi64>
  exec.yield %y : tensor<8xi64>
}
