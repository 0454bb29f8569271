// A value of the first stage that the last reads too, as a second head of a language model reads the embedding: messages that
// skip stages wait for the others, and a step has room for them whatever room evaluations have on the same channels.
// RUN: rm -rf %t && mkdir -p %t/data && cd %t
// RUN: %python %S/../Inputs/classes.py data 11
// DEFINE: %{run} = --data=data --steps=4 --eval-data=data --eval-every=2 --eval-steps=2
// RUN: dtcc %s --precision=f32 --cluster=cpu:1 -o one && ./one %{run} --metrics=one.jsonl
// RUN: dtcc %s --precision=f32 --cluster=cpu:2 --mesh=pp=2 --microbatches=4 --schedule=interleaved:2 -o two && ./two %{run} --metrics=two.jsonl
// RUN: %source/tools/compare-losses one.jsonl two.jsonl 1e-6
// RUN: %python %S/../Inputs/evaluations.py close one.jsonl two.jsonl

graph.state @embedding : tensor<11x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "embedding", saved_shape = array<i64: 11, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w1 : tensor<16x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1", saved_shape = array<i64: 16, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w2 : tensor<16x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2", saved_shape = array<i64: 16, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w3 : tensor<16x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w3", saved_shape = array<i64: 16, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w4 : tensor<16x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w4", saved_shape = array<i64: 16, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<11x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 11, 16>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%ids: tensor<4x8xi64> {graph.name = "ids", graph.role = "data"}, %labels: tensor<4x8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %table = graph.read @embedding : tensor<11x16xf32>
  %x = graph.embedding %table, %ids : (tensor<11x16xf32>, tensor<4x8xi64>) -> tensor<4x8x16xf32>
  %r1 = graph.read @w1 : tensor<16x16xf32>
  %p1 = graph.contract "btc,dc->btd" %x, %r1 : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
  %h1 = graph.tanh %p1 : tensor<4x8x16xf32>
  %r2 = graph.read @w2 : tensor<16x16xf32>
  %p2 = graph.contract "btc,dc->btd" %h1, %r2 : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
  %h2 = graph.tanh %p2 : tensor<4x8x16xf32>
  %r3 = graph.read @w3 : tensor<16x16xf32>
  %p3 = graph.contract "btc,dc->btd" %h2, %r3 : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
  %h3 = graph.tanh %p3 : tensor<4x8x16xf32>
  %r4 = graph.read @w4 : tensor<16x16xf32>
  %p4 = graph.contract "btc,dc->btd" %h3, %r4 : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
  %h4 = graph.tanh %p4 : tensor<4x8x16xf32>
  %both = graph.add %h4, %x : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %w = graph.read @head : tensor<11x16xf32>
  %logits = graph.contract "btc,vc->btv" %both, %w : (tensor<4x8x16xf32>, tensor<11x16xf32>) -> tensor<4x8x11xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
