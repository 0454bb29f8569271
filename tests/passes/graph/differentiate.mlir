// RUN: dtcc-opt %s --graph-differentiate="optimizer=#graph.sgd<lr=0.1,momentum=0.0,dampening=0.0,weight_decay=0.0,nesterov=false> clip=1.0" --graph-verify-step | FileCheck %s

// Two layers with a shared input of the residual: x reaches the loss twice, a frozen state gets nothing.

graph.state @table : tensor<7x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "table", saved_shape = array<i64: 7, 4>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @w : tensor<4x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @frozen : tensor<4x7xf32> {role = #graph<role parameter>, trainable = false, decay = true, saved_name = "frozen", saved_shape = array<i64: 4, 7>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @unused : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "unused", saved_shape = array<i64: 4>, init = #graph.init<zero>}

// CHECK-LABEL: func.func @step(%arg0: tensor<2x3xi64>
// CHECK-SAME: -> (tensor<f32>, tensor<f32>, tensor<f32>)
func.func @loss(%ids: tensor<2x3xi64> {graph.name = "ids"}, %labels: tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>) {
  %table = graph.read @table : tensor<7x4xf32>
  %w = graph.read @w : tensor<4x4xf32>
  %head = graph.read @frozen : tensor<4x7xf32>
  // CHECK: %[[X:.*]] = graph.embedding {{.*}}origin = 3 : i64, phase = "F"
  %x = graph.embedding %table, %ids : (tensor<7x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %h = graph.contract "btc,cd->btd" %x, %w : (tensor<2x3x4xf32>, tensor<4x4xf32>) -> tensor<2x3x4xf32>
  %y = graph.add %x, %h : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %logits = graph.contract "btd,dv->btv" %y, %head : (tensor<2x3x4xf32>, tensor<4x7xf32>) -> tensor<2x3x7xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<2x3x7xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
// CHECK: %[[DL:.*]] = graph.cross_entropy_grad {{.*}}origin = 7 : i64, origin_factors = array<i64: 0, 1, 2>, phase = "I"
// The frozen head gets no gradient: one product, of d(logits) with the head.
// CHECK: %[[DY:.*]] = graph.contract "btv,dv->btd" %[[DL]], {{.*}}origin = 6 : i64, origin_factors = array<i64: 0, 1, 3, 2>, phase = "I"
// CHECK: %[[DX:.*]] = graph.contract "btd,cd->btc" %[[DY]], {{.*}}origin = 4 : i64, origin_factors = array<i64: 0, 1, 3, 2>, phase = "I"
// CHECK: %[[DW:.*]] = graph.contract "btd,btc->cd" %[[DY]], %[[X]] {origin = 4 : i64, origin_factors = array<i64: 3, 2, 0, 1>, phase = "W"
// CHECK: %[[SUM:.*]] = graph.add %[[DY]], %[[DX]] {origin = 4 : i64, origin_factors = array<i64: 0, 1, 3>, phase = "I"
// CHECK: %[[DT:.*]] = graph.scatter_add %[[SUM]], {{.*}}origin = 3 : i64, origin_factors = array<i64: 0, 1, 2, 3>, phase = "W"
// CHECK: %[[NORM:.*]] = graph.update {{.*}} (%[[DT]], %[[DW]]) to [@table, @w] {clip = 1.{{.*}}phase = "U"
// CHECK: return {{.*}}, {{.*}}, %[[NORM]]
