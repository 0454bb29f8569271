// RUN: not dtcc-opt %s --graph-lower-precision --split-input-file 2>&1 | FileCheck %s
// RUN: not dtcc-opt %s --graph-lower-precision=compute=f8 2>&1 | FileCheck %s --check-prefix=TYPE

// TYPE: error: compute type must be bf16 or f16, got: f8
// CHECK: error: 'graph.neg' op must compute in f32 to be lowered to 'bf16', got: 'tensor<2xf64>'
func.func @loss(%x: tensor<2xf64>) -> (tensor<f32>, tensor<f32>) {
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %y = graph.neg %x : tensor<2xf64>
  return %one, %one : tensor<f32>, tensor<f32>
}

// -----

// CHECK: error: needs a function @loss of one block
func.func @other() {
  return
}
