// RUN: dtcc-opt %s -split-input-file --graph-separate-counts | FileCheck %s

// Two terms divide by counts of their own, computed from the labels. All labels of the second count.
// CHECK-LABEL: func.func @loss
// CHECK-SAME: tensor<4x5xf32>, %[[LABELS:.*]]: tensor<4x3xi64>
// CHECK: %[[SUM:.*]], %{{.*}}, %{{.*}} = graph.cross_entropy
// CHECK-NEXT: %[[IGNORED:.*]] = graph.constant dense<-100> : tensor<4x3xi64>
// CHECK-NEXT: %[[COUNTED:.*]] = graph.compare ne %[[LABELS]], %[[IGNORED]]
// CHECK-NEXT: %[[ONES:.*]] = graph.cast %[[COUNTED]] : (tensor<4x3xi1>) -> tensor<4x3xf32>
// CHECK-NEXT: %[[COUNT:.*]] = graph.reduce sum %[[ONES]] [0, 1]
// CHECK-NEXT: graph.div %[[SUM]], %[[COUNT]]
// CHECK-NEXT: %[[OTHER:.*]], %{{.*}}, %{{.*}} = graph.cross_entropy
// CHECK-NEXT: %[[ROWS:.*]] = graph.constant dense<4.000000e+00> : tensor<f32>
// CHECK-NEXT: graph.div %[[OTHER]], %[[ROWS]]
func.func @loss(%b: tensor<4x5xf32>, %a: tensor<4x3xi64>, %z: tensor<4x3x5xf32>, %all: tensor<4xi64>) -> (tensor<f32>, tensor<f32>) {
  %s0, %c0, %l0 = graph.cross_entropy %z, %a {ignore_index = -100 : i64} : (tensor<4x3x5xf32>, tensor<4x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x3xf32>)
  %m0 = graph.div %s0, %c0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s1, %c1, %l1 = graph.cross_entropy %b, %all : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  %m1 = graph.div %s1, %c1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = graph.add %m0, %m1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}

// -----

// A count that the function returns stays.
// CHECK-LABEL: func.func @loss
// CHECK: %[[SUM:.*]], %[[COUNT:.*]], %{{.*}} = graph.cross_entropy
// CHECK-NEXT: return %[[SUM]], %[[COUNT]]
func.func @loss(%z: tensor<4x5xf32>, %a: tensor<4xi64>) -> (tensor<f32>, tensor<f32>) {
  %s, %c, %l = graph.cross_entropy %z, %a {ignore_index = -100 : i64} : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  return %s, %c : tensor<f32>, tensor<f32>
}
