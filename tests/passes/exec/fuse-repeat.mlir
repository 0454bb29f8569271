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
