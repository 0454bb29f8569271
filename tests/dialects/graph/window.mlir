// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s
// Convolution, pooling and batch normalisation in their syntax.

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<2x3x9x9xf32>, %k: tensor<4x3x3x3xf32>, %xg: tensor<2x2x3x9xf32>, %kg: tensor<2x5x3x3xf32>) {
  // CHECK: graph.convolution %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x5x5xf32>
  %y = graph.convolution %x, %k {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x5x5xf32>
  %dx = graph.convolution_input_grad %y, %k {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x4x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x9x9xf32>
  %dk = graph.convolution_kernel_grad %y, %x {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x4x5x5xf32>, tensor<2x3x9x9xf32>) -> tensor<4x3x3x3xf32>
  // Two groups, one spatial dimension.
  %g = graph.convolution %xg, %kg {strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 0>} : (tensor<2x2x3x9xf32>, tensor<2x5x3x3xf32>) -> tensor<2x2x5x7xf32>
  return
}

// CHECK-LABEL: func.func @pool
func.func @pool(%x: tensor<2x3x9x9xf32>) {
  // CHECK: graph.max_pool %{{.*}} {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 2, 2>, window = array<i64: 3, 3>}
  %y = graph.max_pool %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x3x9x9xf32>) -> tensor<2x3x5x5xf32>
  %dx = graph.max_pool_grad %y, %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x3x5x5xf32>, tensor<2x3x9x9xf32>) -> tensor<2x3x9x9xf32>
  return
}

// CHECK-LABEL: func.func @batch_norm
func.func @batch_norm(%x: tensor<4x3x5xf32>, %s: tensor<3xf32>) {
  // CHECK: graph.batch_norm %{{.*}}, %{{.*}}, %{{.*}} {{\[}}0, 2] {eps = {{.*}} : f64}
  %y, %mean, %variance = graph.batch_norm %x, %s, %s [0, 2] {eps = 1.0e-5} : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<4x3xf32>, tensor<4x3xf32>)
  // CHECK: graph.batch_norm_grad {{.*}}groups = 2 : i64
  %dx = graph.batch_norm_grad %y, %x, %s, %mean, %variance [0, 2] {eps = 1.0e-5, groups = 2 : i64} : (tensor<4x3x5xf32>, tensor<4x3x5xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3x5xf32>
  %ds:2 = graph.batch_norm_param_grad %y, %x, %mean, %variance [0, 2] {eps = 1.0e-5} : (tensor<4x3x5xf32>, tensor<4x3x5xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  // CHECK: graph.group_sum %{{.*}} {groups = 2 : i64} : (tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
  %sums = graph.group_sum %x {groups = 2 : i64} : (tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
  // CHECK: graph.running_statistics {{.*}} {cells = 20 : i64, momentum = {{.*}} : f64, unbiased}
  %r:2 = graph.running_statistics %s, %s, %mean, %variance {momentum = 0.1, cells = 20 : i64, unbiased} : (tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}
