// Attention of one head, written out: nothing is there that an all-to-all over cp could share out.
// RUN: not dtcc %s --cluster=cpu:2 --mesh=cp=2 --cp-attention=alltoall -o %t 2>&1 | FileCheck %s
// CHECK: attention-without-heads.mlir:{{[0-9]+}}:{{[0-9]+}}: error: all-to-all over cp shares out heads, and this has none: take --cp-attention=gather, or leave it out
// RUN: dtcc %s --cluster=cpu:2 --mesh=cp=2 --cp-attention=gather -o %t

graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %scores = graph.contract "bqc,bkc->bqk" %x, %x : (tensor<4x8x6xf32>, tensor<4x8x6xf32>) -> tensor<4x8x8xf32>
  %p = graph.softmax %scores [2] : tensor<4x8x8xf32>
  %h = graph.contract "bqk,bkc->bqc" %p, %x : (tensor<4x8x8xf32>, tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
  %y = graph.contract "btc,vc->btv" %h, %w : (tensor<4x8x6xf32>, tensor<11x6xf32>) -> tensor<4x8x11xf32>
  %sum, %count, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
