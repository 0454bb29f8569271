// RUN: dtcc-opt %s --graph-factor-dimensions | FileCheck %s
// Windows slide over whole dimensions, whatever is done to them elsewhere, even of size 1; channels are factored.

graph.state @k : tensor<4x6x3x1xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "k",
    saved_shape = array<i64: 4, 6, 3, 1>, value = dense<1.0> : tensor<4x6x3x1xf32>}
// CHECK: graph.state @k : tensor<4x6x3xf32>
// CHECK-LABEL: func.func @image
// CHECK: %[[K:.*]] = graph.reshape %{{.*}} : (tensor<4x6x3xf32>) -> tensor<4x6x3x1xf32>
// CHECK: %[[Y:.*]] = graph.convolution %{{.*}}, %[[K]] {{.*}} : (tensor<8x6x9x4xf32>, tensor<4x6x3x1xf32>) -> tensor<8x4x7x4xf32>
// CHECK: %[[P:.*]] = graph.max_pool %{{.*}} : (tensor<8x4x7x4xf32>) -> tensor<8x4x3x1xf32>
// CHECK: graph.batch_norm %{{.*}} {{\[}}0, 2] {{.*}} : (tensor<8x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x3xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
func.func @image(%x: tensor<8x6x36xf32>, %s: tensor<4xf32>) -> tensor<8x4x3x1xf32> {
  %k = graph.read @k : tensor<4x6x3x1xf32>
  %r = graph.reshape %x : (tensor<8x6x36xf32>) -> tensor<8x6x9x4xf32>
  %y = graph.convolution %r, %k {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>} : (tensor<8x6x9x4xf32>, tensor<4x6x3x1xf32>) -> tensor<8x4x7x4xf32>
  %p = graph.max_pool %y {window = array<i64: 3, 4>, strides = array<i64: 2, 4>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>} : (tensor<8x4x7x4xf32>) -> tensor<8x4x3x1xf32>
  %n, %m, %v = graph.batch_norm %p, %s, %s [0, 2, 3] {eps = 1.0e-5} : (tensor<8x4x3x1xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x3x1xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  return %n : tensor<8x4x3x1xf32>
}
