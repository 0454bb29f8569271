// Shifts of labels that no window can have: one message, whatever number a text holds.
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{attribute} = graph.loss_shift = -9223372036854775808 : i64
// DEFINE: %{read} = sed 's/ATTRIBUTE/%{attribute}/' %s > %t/model.mlir && not dtcc --emit=graph -o - %t/model.mlir 2>&1
// RUN: %{read} | FileCheck %s --check-prefix=LEAST
// LEAST: error: graph.loss_shift must be a 64-bit integer from 0 to 2^31, got: -9223372036854775808 : i64
// REDEFINE: %{attribute} = graph.loss_shift = 2147483649 : i64
// RUN: %{read} | FileCheck %s --check-prefix=MOST
// MOST: error: graph.loss_shift must be a 64-bit integer from 0 to 2^31, got: 2147483649 : i64
// REDEFINE: %{attribute} = graph.loss_shift = 1 : i128
// RUN: %{read} | FileCheck %s --check-prefix=TYPE
// TYPE: error: graph.loss_shift must be a 64-bit integer from 0 to 2^31, got: 1 : i128
// REDEFINE: %{attribute} = dtcc.label_shift = -1 : i64
// RUN: %{read} | FileCheck %s --check-prefix=DECIDED
// DECIDED: error: dtcc.label_shift must be a 64-bit integer from 0 to 2^31, got: -1 : i64

module attributes {ATTRIBUTE} {
  graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
  func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
    %w = graph.read @wte : tensor<11x6xf32>
    %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
    %y = graph.contract "btc,vc->btv" %x, %w : (tensor<4x8x6xf32>, tensor<11x6xf32>) -> tensor<4x8x11xf32>
    %sum, %count, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
    return %sum, %count : tensor<f32>, tensor<f32>
  }
}
