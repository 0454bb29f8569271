// Two layers with the same experts: their weights are split over ep once.
// RUN: dtcc %s --precision=f32 --mesh=dp=1,ep=2,tp=2 --verify -o %t 2>&1 | FileCheck %s
// RUN: dtcc %s --precision=bf16 --mesh=dp=1,ep=2,tp=2 --no-eval --emit=plan -o - | FileCheck %s --check-prefix=PLAN
// CHECK: verified: 2 steps on 4 ranks equal the whole step
// PLAN: "states"

graph.state @router : tensor<4x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router.weight", saved_shape = array<i64: 4, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @in : tensor<4x2x6x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.in", saved_shape = array<i64: 4, 2, 6, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @out : tensor<4x16x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.out", saved_shape = array<i64: 4, 16, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<16x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head.weight", saved_shape = array<i64: 16, 5>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x4x16xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8x4xi64> {graph.name = "labels", graph.role = "labels", graph.bounds = array<i64: 0, 5, -100>}) -> (tensor<f32>, tensor<f32>) {
  %router = graph.read @router : tensor<4x16xf32>
  %scores = graph.contract "btc,ec->bte" %x, %router : (tensor<8x4x16xf32>, tensor<4x16xf32>) -> tensor<8x4x4xf32>
  %p = graph.softmax %scores [2] : tensor<8x4x4xf32>
  %r, %i = graph.top_k %p : (tensor<8x4x4xf32>) -> (tensor<8x4x2xf32>, tensor<8x4x2xi64>)
  %in = graph.read @in : tensor<4x2x6x16xf32>
  %out = graph.read @out : tensor<4x16x6xf32>
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<8x4x16xf32>, tensor<8x4x2xi64>, tensor<8x4x2xf32>, tensor<4x2x6x16xf32>, tensor<4x16x6xf32>) -> (tensor<8x4x16xf32>, tensor<8x4x2x2x6xf32>)
  %scores2 = graph.contract "btc,ec->bte" %y, %router : (tensor<8x4x16xf32>, tensor<4x16xf32>) -> tensor<8x4x4xf32>
  %p2 = graph.softmax %scores2 [2] : tensor<8x4x4xf32>
  %r2, %i2 = graph.top_k %p2 : (tensor<8x4x4xf32>) -> (tensor<8x4x2xf32>, tensor<8x4x2xi64>)
  %y2, %h2 = graph.experts %y, %i2, %r2, %in, %out : (tensor<8x4x16xf32>, tensor<8x4x2xi64>, tensor<8x4x2xf32>, tensor<4x2x6x16xf32>, tensor<4x16x6xf32>) -> (tensor<8x4x16xf32>, tensor<8x4x2x2x6xf32>)
  %z = graph.add %x, %y2 : (tensor<8x4x16xf32>, tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
  %head = graph.read @head : tensor<16x5xf32>
  %logits = graph.contract "btn,nv->btv" %z, %head : (tensor<8x4x16xf32>, tensor<16x5xf32>) -> tensor<8x4x5xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x4x5xf32>, tensor<8x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
