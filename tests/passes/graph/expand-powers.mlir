// RUN: dtcc-opt %s --graph-expand-powers --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @simple
// CHECK-NOT: graph.pow
// CHECK: %[[SQUARE:.*]] = graph.mul %arg0, %arg0
// CHECK: %[[AGAIN:.*]] = graph.mul %arg0, %arg0
// CHECK: %[[CUBE:.*]] = graph.mul %[[AGAIN]], %arg0
// CHECK: %[[ROOT:.*]] = graph.sqrt %arg0
// CHECK: %[[RSQRT:.*]] = graph.rsqrt %arg0
// CHECK: %[[ONE:.*]] = graph.constant dense<1.0
// CHECK: %[[INVERSE:.*]] = graph.div %[[ONE]], %arg0
// CHECK: %[[LAST:.*]] = graph.div
// CHECK-NOT: graph.pow
// CHECK: return %arg0, %[[SQUARE]], %[[CUBE]], %[[ROOT]], %[[RSQRT]], %[[INVERSE]], %[[LAST]]
func.func @simple(%x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %1 = graph.constant dense<1.0> : tensor<4x3xf32> : tensor<4x3xf32>
  // A broadcast of a scalar is a constant exponent too.
  %two = graph.constant dense<2.0> : tensor<f32> : tensor<f32>
  %2 = graph.broadcast %two [] : (tensor<f32>) -> tensor<4x3xf32>
  %3 = graph.constant dense<3.0> : tensor<4x3xf32> : tensor<4x3xf32>
  %4 = graph.constant dense<0.5> : tensor<4x3xf32> : tensor<4x3xf32>
  %5 = graph.constant dense<-0.5> : tensor<4x3xf32> : tensor<4x3xf32>
  %6 = graph.constant dense<-1.0> : tensor<4x3xf32> : tensor<4x3xf32>
  %7 = graph.constant dense<-2.0> : tensor<4x3xf32> : tensor<4x3xf32>
  %p1 = graph.pow %x, %1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %p2 = graph.pow %x, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %p3 = graph.pow %x, %3 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %p4 = graph.pow %x, %4 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %p5 = graph.pow %x, %5 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %p6 = graph.pow %x, %6 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %p7 = graph.pow %x, %7 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %p1, %p2, %p3, %p4, %p5, %p6, %p7 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// Integers, other exponents, and zero, behind which a parameter would be forgotten.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-4: graph.pow
func.func @stays(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>) {
  %1 = graph.constant dense<1.5> : tensor<4xf32> : tensor<4xf32>
  %2 = graph.constant dense<0.0> : tensor<4xf32> : tensor<4xf32>
  %3 = graph.constant dense<2> : tensor<4xi64> : tensor<4xi64>
  %a = graph.pow %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = graph.pow %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = graph.pow %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = graph.pow %i, %3 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi64>
}
