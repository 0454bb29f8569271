// RUN: not dtcc-opt %s --graph-recompute=mode=some 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not dtcc-opt %s --graph-recompute=again=9 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dtcc-opt %s --graph-recompute=again=0 2>&1 | FileCheck %s --check-prefix=READ
// RUN: echo "module {}" | not dtcc-opt --graph-recompute 2>&1 | FileCheck %s --check-prefix=STEP
// MODE: mode must be none, selective or full, got: some
// NONE: plan must name forward ops of this step, got origin: 9
// READ: plan can recompute only values that depend on an input and a state, got origin: 0
// STEP: needs a function @step of one block: run graph-differentiate first

graph.state @w : tensor<2x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2, 3>, init = #graph.init<zero>}
func.func @step(%x: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %w = graph.read @w {origin = 0 : i64, phase = "F"} : tensor<2x3xf32>
  %y = graph.mul %x, %w {origin = 1 : i64, phase = "F"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %n = graph.update %s, () to [] {origin = 2 : i64, phase = "U", optimizer = #graph.sgd<lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>) -> tensor<f32>
  return %s, %s, %n : tensor<f32>, tensor<f32>, tensor<f32>
}
