// RUN: dtcc-opt %s -split-input-file --graph-recover-composites | FileCheck %s

// log(1 + x), whichever is first, and 1 as a tensor or repeated.
// CHECK-LABEL: func.func @logarithms
// CHECK-NEXT: %[[A:.*]] = graph.log1p %arg0
// CHECK-NEXT: return %[[A]], %[[A]]
func.func @logarithms(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %a = graph.add %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %la = graph.log %a : tensor<4xf32>
  %cell = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %ones = graph.broadcast %cell [] : (tensor<f32>) -> tensor<4xf32>
  %b = graph.add %ones, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %lb = graph.log %b : tensor<4xf32>
  return %la, %lb : tensor<4xf32>, tensor<4xf32>
}

// -----

// exp(x) - 1 and exp(x) + -1.
// CHECK-LABEL: func.func @exponentials
// CHECK-NEXT: %[[A:.*]] = graph.expm1 %arg0
// CHECK-NEXT: return %[[A]], %[[A]]
func.func @exponentials(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = graph.exp %x : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %a = graph.sub %e, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %minus = graph.constant dense<-1.0> : tensor<4xf32> : tensor<4xf32>
  %b = graph.add %minus, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// Other numbers, other orders, and other functions stay.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: graph.log1p
// CHECK-NOT: graph.expm1
// CHECK: return
func.func @stays(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %two = graph.constant dense<2.0> : tensor<4xf32> : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %a = graph.add %x, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %la = graph.log %a : tensor<4xf32>
  %e = graph.exp %x : tensor<4xf32>
  %b = graph.sub %one, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = graph.add %e, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %la, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
