// RUN: dtcc-opt --exec-fuse %s | FileCheck %s

// Sums over columns and what needs them are two kernels. Between them lie halves, not the same in f32, and no difference that
// the second can make from them and a mean: one buffer of all cells, and a row.
// CHECK-LABEL: func.func @centre
// CHECK:       %[[FIRST:.*]]:2 = exec.fused
// CHECK:         exec.yield %{{.*}}, %{{.*}} : tensor<64x32xbf16>, tensor<32xf32>
// CHECK:       exec.fused
// CHECK:         graph.cast
// CHECK:         graph.sub
// CHECK:         graph.reduce
func.func @centre(%x: tensor<64x32xbf16>, %y: tensor<64x32xbf16>) -> (tensor<64xf32>) {
  %count = graph.constant dense<64.0> : tensor<32xf32> : tensor<32xf32>
  %h = graph.add %x, %y : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %f = graph.cast %h : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %s = graph.reduce sum %f [0] : (tensor<64x32xf32>) -> tensor<32xf32>
  %m = graph.div %s, %count : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %b = graph.broadcast %m [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %d = graph.sub %f, %b : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %q = graph.mul %d, %f : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = graph.reduce sum %q [1] : (tensor<64x32xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// The second kernel could add %z itself from %t, half its bytes. But %t is made in a kernel that takes maxima over the middle
// dimension and visits a cell of %t once for each column: it cannot store %t, and stores %z.
// CHECK-LABEL: func.func @columns
// CHECK:       exec.fused(%{{.*}}, %{{.*}}) : (tensor<4x5xf32>, tensor<5x5xf32>) -> (tensor<4x5x5xf32>, tensor<4x5xf32>)
func.func @columns(%x: tensor<4x5xf32>, %w: tensor<5x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %u = graph.exp %x : tensor<4x5xf32>
  %t = graph.add %u, %x : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %rows = graph.broadcast %t [0, 1] : (tensor<4x5xf32>) -> tensor<4x5x5xf32>
  %all = graph.broadcast %w [1, 2] : (tensor<5x5xf32>) -> tensor<4x5x5xf32>
  %z = graph.add %rows, %all : (tensor<4x5x5xf32>, tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  %m = graph.reduce max %z [1] : (tensor<4x5x5xf32>) -> tensor<4x5xf32>
  %b = graph.broadcast %m [0, 2] : (tensor<4x5xf32>) -> tensor<4x5x5xf32>
  %d = graph.sub %z, %b : (tensor<4x5x5xf32>, tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  %e = graph.exp %d : tensor<4x5x5xf32>
  %s = graph.reduce sum %e [1] : (tensor<4x5x5xf32>) -> tensor<4x5xf32>
  return %m, %s : tensor<4x5xf32>, tensor<4x5xf32>
}
