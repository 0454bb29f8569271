// Where a plan says which partial sums flow through an op, no others do; where it says nothing, all that cost nothing.
// RUN: echo '{"version": 1, "mesh": [{"name": "dp", "size": 2, "kind": "rank"}, {"name": "tp", "size": 2, "kind": "rank"}],' > %t.head
// RUN: echo '"batch_axes": ["dp"], "ops": [{"origin": 1, "op": "graph.contract", "factors": {"2": ["tp"]}}' >> %t.head
// RUN: cp %t.head %t.free.json
// RUN: echo ']}' >> %t.free.json
// RUN: cp %t.head %t.held.json
// RUN: echo ', {"origin": 2, "op": "graph.neg", "partial": []}]}' >> %t.held.json
// RUN: dtcc-opt %s --graph-differentiate --spmd-apply-plan="plan=%t.free.json" | FileCheck %s --check-prefix=FREE
// RUN: dtcc-opt %s --graph-differentiate --spmd-apply-plan="plan=%t.held.json" | FileCheck %s --check-prefix=HELD

// FREE: graph.contract {{.*}} -> !spmd.tensor<8x4xf32, @mesh, [{dp},{}], partial(sum {tp})>
// FREE: graph.neg {{.*}} !spmd.tensor<8x4xf32, @mesh, [{dp},{}], partial(sum {tp})>
// HELD: graph.contract {{.*}} -> !spmd.tensor<8x4xf32, @mesh, [{dp},{}], partial(sum {tp})>
// HELD: spmd.reshard
// HELD: graph.neg {{.*}} !spmd.tensor<8x4xf32, @mesh, [{dp},{}]>

// The loss and its gradients are sums over examples all the same.
// HELD: graph.cross_entropy {{.*}} -> (!spmd.tensor<f32, @mesh, [], partial(sum {dp})>

graph.state @w : tensor<4x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x4xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4x4xf32>
  %y = graph.contract "bk,kn->bn" %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %logits = graph.neg %y : tensor<8x4xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
