// RUN: dtcc-opt %s --split-input-file --graph-factor-dimensions | FileCheck %s

// A flattened product: the rows are batch and sequence, the columns heads and channels. State keeps its saved shape.
// CHECK: graph.state @w : tensor<12x3x8xf32> {{.*}}saved_shape = array<i64: 12, 24>{{.*}}value = dense<1.000000e+00> : tensor<12x3x8xf32>
graph.state @w : tensor<12x24xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w",
    saved_shape = array<i64: 12, 24>, value = dense<1.0> : tensor<12x24xf32>}
// CHECK-LABEL: func.func @flattened
// CHECK-NOT: graph.reshape
// CHECK: graph.contract "abc,cde->abde" %arg0, %{{.*}} : (tensor<2x5x12xf32>, tensor<12x3x8xf32>) -> tensor<2x5x3x8xf32>
// CHECK-NOT: graph.reshape
// CHECK: return
func.func @flattened(%x: tensor<2x5x12xf32>) -> tensor<2x5x3x8xf32> {
  %w = graph.read @w : tensor<12x24xf32>
  %r = graph.reshape %x : (tensor<2x5x12xf32>) -> tensor<10x12xf32>
  %p = graph.contract "mk,kn->mn" %r, %w : (tensor<10x12xf32>, tensor<12x24xf32>) -> tensor<10x24xf32>
  %h = graph.reshape %p : (tensor<10x24xf32>) -> tensor<2x5x3x8xf32>
  return %h : tensor<2x5x3x8xf32>
}

// -----

// Slices that take cells in turns are one unstack of an inner dimension; one of them alone stays a slice.
// CHECK-LABEL: func.func @in_turns
// CHECK: %[[X:.*]] = graph.reshape %arg0 : (tensor<4x6xf32>) -> tensor<4x3x2xf32>
// CHECK: %[[P:.*]]:2 = graph.unstack %[[X]] {dim = 2 : i64}
// CHECK: graph.mul %[[P]]#0, %[[P]]#1
// CHECK: graph.slice %arg1 [0, 1] [1, 2]
func.func @in_turns(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %b = graph.slice %x [0, 1] [1, 2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %a = graph.slice %x [0, 0] [1, 2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %m = graph.mul %a, %b : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %c = graph.slice %y [0, 1] [1, 2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return %m, %c : tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// Equal slices are one unstack; what is joined again is a stack (rotate half). Inputs keep their shape.
// CHECK-LABEL: func.func @rotate_half
// CHECK: %[[X:.*]] = graph.reshape %arg0 : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
// CHECK: %[[P:.*]]:2 = graph.unstack %[[X]] {dim = 1 : i64}
// CHECK: %[[N:.*]] = graph.neg %[[P]]#1 : tensor<4x3xf32>
// CHECK: %[[S:.*]] = graph.stack %[[N]], %[[P]]#0 {dim = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x2x3xf32>
// CHECK: graph.reshape %[[S]] : (tensor<4x2x3xf32>) -> tensor<4x6xf32>
func.func @rotate_half(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = graph.slice %x [0, 0] [1, 1] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %b = graph.slice %x [0, 3] [1, 1] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %n = graph.neg %b : tensor<4x3xf32>
  %y = graph.concat %n, %a {dim = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// Unequal parts stay slices; the axis stays whole.
// CHECK-LABEL: func.func @unequal
// CHECK: graph.slice %arg0 [0, 0] [1, 1] : (tensor<4x6xf32>) -> tensor<4x4xf32>
// CHECK: graph.slice %arg0 [0, 4] [1, 1] : (tensor<4x6xf32>) -> tensor<4x2xf32>
func.func @unequal(%x: tensor<4x6xf32>) -> (tensor<4x4xf32>, tensor<4x2xf32>) {
  %a = graph.slice %x [0, 0] [1, 1] : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %b = graph.slice %x [0, 4] [1, 1] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x2xf32>
}

// -----

// One stream seen as 12x64 and as 16x48 mixes factors: the first split wins, the other reshape stays, and its other
// dimensions still factor.
// CHECK-LABEL: func.func @conflict
// CHECK: %[[X:.*]] = graph.reshape %arg0 : (tensor<6x768xf32>) -> tensor<2x3x12x64xf32>
// CHECK: graph.exp %[[X]] : tensor<2x3x12x64xf32>
// CHECK: graph.reshape %[[X]] : (tensor<2x3x12x64xf32>) -> tensor<2x3x16x48xf32>
func.func @conflict(%x: tensor<6x768xf32>) -> (tensor<2x3x12x64xf32>, tensor<2x3x16x48xf32>) {
  %a = graph.reshape %x : (tensor<6x768xf32>) -> tensor<2x3x12x64xf32>
  %e = graph.exp %a : tensor<2x3x12x64xf32>
  %b = graph.reshape %x : (tensor<6x768xf32>) -> tensor<2x3x16x48xf32>
  %f = graph.exp %b : tensor<2x3x16x48xf32>
  return %e, %f : tensor<2x3x12x64xf32>, tensor<2x3x16x48xf32>
}

// -----

// Reductions, norms and softmax over a split axis take all its factors; ones vanish.
// CHECK-LABEL: func.func @composite_axes
// CHECK: graph.layer_norm %{{.*}} [1, 2] {eps = {{.*}}} : (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<5xf32>, tensor<5xf32>)
// CHECK: graph.softmax %{{.*}} [1, 2] : tensor<5x2x4xf32>
// CHECK: graph.reduce  max %{{.*}} [1, 2] : (tensor<5x2x4xf32>) -> tensor<5xf32>
func.func @composite_axes(%x: tensor<1x5x8xf32>, %s: tensor<8xf32>) -> (tensor<5x2x4xf32>, tensor<1x5xf32>) {
  %y, %m, %r = graph.layer_norm %x, %s, %s [2] {eps = 1.0e-5 : f64} : (tensor<1x5x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<1x5x8xf32>, tensor<1x5xf32>, tensor<1x5xf32>)
  %p = graph.softmax %y [2] : tensor<1x5x8xf32>
  %h = graph.reshape %p : (tensor<1x5x8xf32>) -> tensor<5x2x4xf32>
  %z = graph.reduce max %p [2] : (tensor<1x5x8xf32>) -> tensor<1x5xf32>
  return %h, %z : tensor<5x2x4xf32>, tensor<1x5xf32>
}

// -----

// An op that wants an axis whole gets it merged: the join of a class token with a grid of patches.
// CHECK-LABEL: func.func @class_token
// CHECK-DAG: %[[T:.*]] = graph.reshape %arg0 : (tensor<7xf32>) -> tensor<1x7xf32>
// CHECK-DAG: %[[G:.*]] = graph.transpose %arg1 [1, 2, 0] : (tensor<7x2x3xf32>) -> tensor<2x3x7xf32>
// CHECK: %[[M:.*]] = graph.reshape %[[G]] : (tensor<2x3x7xf32>) -> tensor<6x7xf32>
// CHECK: graph.concat %[[T]], %[[M]] {dim = 0 : i64} : (tensor<1x7xf32>, tensor<6x7xf32>) -> tensor<7x7xf32>
func.func @class_token(%t: tensor<7xf32>, %g: tensor<7x2x3xf32>) -> tensor<7x7xf32> {
  %a = graph.reshape %t : (tensor<7xf32>) -> tensor<1x7xf32>
  %b = graph.reshape %g : (tensor<7x2x3xf32>) -> tensor<7x6xf32>
  %c = graph.transpose %b [1, 0] : (tensor<7x6xf32>) -> tensor<6x7xf32>
  %y = graph.concat %a, %c {dim = 0 : i64} : (tensor<1x7xf32>, tensor<6x7xf32>) -> tensor<7x7xf32>
  return %y : tensor<7x7xf32>
}

// -----

// The rows of a loss are as many as its logits have: labels follow, and a shift keeps its dimension.
// CHECK-LABEL: func.func @loss
// CHECK: %[[L:.*]] = graph.shift %arg1 {amount = 1 : i64, dim = 1 : i64, fill = -100 : i64} : tensor<2x5xi64>
// CHECK: graph.cross_entropy %arg0, %[[L]] {{.*}} : (tensor<2x5x9xf32>, tensor<2x5xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x5xf32>)
func.func @loss(%x: tensor<2x5x9xf32>, %l: tensor<2x5xi64>) -> (tensor<f32>, tensor<f32>) {
  %s = graph.shift %l {dim = 1 : i64, amount = 1 : i64, fill = -100 : i64} : tensor<2x5xi64>
  %r = graph.reshape %x : (tensor<2x5x9xf32>) -> tensor<10x9xf32>
  %q = graph.reshape %s : (tensor<2x5xi64>) -> tensor<10xi64>
  %sum, %count, %lse = graph.cross_entropy %r, %q {ignore_index = -100 : i64} : (tensor<10x9xf32>, tensor<10xi64>) -> (tensor<f32>, tensor<f32>, tensor<10xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
