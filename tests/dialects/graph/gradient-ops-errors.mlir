// RUN: dtcc-opt %s --verify-diagnostics --split-input-file

func.func @integers(%x: tensor<2xi64>) -> tensor<2xi64> {
  // expected-error @below {{operand #0 must be float tensor}}
  %s = "graph.stop_gradient"(%x) : (tensor<2xi64>) -> tensor<2xi64>
  return %s : tensor<2xi64>
}

// -----

func.func @types(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error @below {{requires the same type for all operands and results}}
  %s = "graph.replace_gradient"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %s : tensor<2xf32>
}
