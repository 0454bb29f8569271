// RUN: dtcc-opt %s --graph-recover-composites | FileCheck %s

// A loss written out: -sum of the logarithm's cells that the labels pick.
// CHECK-LABEL: func.func @picked
// CHECK: %[[SUM:.*]], %{{.*}}, %{{.*}} = graph.cross_entropy %arg0, %arg1 {ignore_index = -1 : i64}
// CHECK-NEXT: return %[[SUM]]
func.func @picked(%x: tensor<4x3x6xf32>, %labels: tensor<4x3xi64>) -> tensor<f32> {
  %log = graph.softmax %x [2] {log} : tensor<4x3x6xf32>
  %class = graph.iota {dim = 2 : i64} : tensor<4x3x6xi64>
  %l = graph.broadcast %labels [0, 1] : (tensor<4x3xi64>) -> tensor<4x3x6xi64>
  %hit = graph.compare eq %l, %class : (tensor<4x3x6xi64>, tensor<4x3x6xi64>) -> tensor<4x3x6xi1>
  %zero = graph.constant dense<0.0> : tensor<4x3x6xf32> : tensor<4x3x6xf32>
  %cells = graph.select %hit, %log, %zero : (tensor<4x3x6xi1>, tensor<4x3x6xf32>, tensor<4x3x6xf32>) -> tensor<4x3x6xf32>
  %rows = graph.reduce sum %cells [2] : (tensor<4x3x6xf32>) -> tensor<4x3xf32>
  %n = graph.neg %rows : tensor<4x3xf32>
  %sum = graph.reduce sum %n [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// Label smoothing reads all classes.
// CHECK-LABEL: func.func @smoothed
// CHECK-NOT: graph.cross_entropy
// CHECK: return
func.func @smoothed(%x: tensor<4x6xf32>, %labels: tensor<4xi64>) -> tensor<f32> {
  %log = graph.softmax %x [1] {log} : tensor<4x6xf32>
  %class = graph.iota {dim = 1 : i64} : tensor<4x6xi64>
  %l = graph.broadcast %labels [0] : (tensor<4xi64>) -> tensor<4x6xi64>
  %hit = graph.compare eq %l, %class : (tensor<4x6xi64>, tensor<4x6xi64>) -> tensor<4x6xi1>
  %low = graph.constant dense<-0.02> : tensor<4x6xf32> : tensor<4x6xf32>
  %high = graph.constant dense<-0.9> : tensor<4x6xf32> : tensor<4x6xf32>
  %weight = graph.select %hit, %high, %low : (tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %cells = graph.mul %weight, %log : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %sum = graph.reduce sum %cells [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}
