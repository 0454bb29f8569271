// A contrastive loss compares each example with all others (CLIP): ranks split the first of the two, and gather the others.
// RUN: rm -rf %t && mkdir %t && %python %S/Inputs/random_npy.py %t
// RUN: dtcc %s --mesh=dp=1 -o %t/one && %t/one --data=%t --steps=6 --metrics=%t/one.jsonl
// RUN: dtcc %s --mesh=dp=2 --verify -o %t/two && %t/two --data=%t --steps=6 --metrics=%t/two.jsonl
// RUN: dtcc %s --mesh=dp=4 --zero=3 -o %t/four && %t/four --data=%t --steps=6 --metrics=%t/four.jsonl
// RUN: dtcc %s --mesh=dp=2,tp=2 --verify -o %t/wide && %t/wide --data=%t --steps=6 --metrics=%t/wide.jsonl
// RUN: %source/tools/compare-losses %t/one.jsonl %t/two.jsonl 1e-5
// RUN: %source/tools/compare-losses %t/one.jsonl %t/four.jsonl 1e-5
// RUN: %source/tools/compare-losses %t/one.jsonl %t/wide.jsonl 1e-5
// A micro-batch would only see its own.
// RUN: not dtcc %s --mesh=dp=2 --microbatches=2 -o %t/split 2>&1 | FileCheck %s
// CHECK: contrastive.mlir:[[#@LINE+12]]:{{[0-9]+}}: error: samples meet each other here; they cannot be split over micro-batches: take one
graph.state @w1 : tensor<12x20xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1",
    saved_shape = array<i64: 12, 20>, init = #graph.init<uniform, -0.5, 0.5>}
graph.state @w2 : tensor<9x20xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2",
    saved_shape = array<i64: 9, 20>, init = #graph.init<uniform, -0.5, 0.5>}
func.func @loss(%x: tensor<8x12xf32> {graph.name = "x", graph.role = "data"},
                %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %0 = graph.read @w1 : tensor<12x20xf32>
  %1 = graph.read @w2 : tensor<9x20xf32>
  %2 = graph.contract "bk,kn->bn" %x, %0 : (tensor<8x12xf32>, tensor<12x20xf32>) -> tensor<8x20xf32>
  %3 = graph.relu %2 : tensor<8x20xf32>
  %4 = graph.embedding %1, %labels : (tensor<9x20xf32>, tensor<8xi64>) -> tensor<8x20xf32>
  %5 = graph.contract "bn,cn->bc" %3, %4 : (tensor<8x20xf32>, tensor<8x20xf32>) -> tensor<8x8xf32>
  %6 = graph.transpose %5 [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %own = graph.iota {dim = 0 : i64} : tensor<8xi64>
  %s0, %c0, %l0 = graph.cross_entropy %5, %own : (tensor<8x8xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  %s1, %c1, %l1 = graph.cross_entropy %6, %own : (tensor<8x8xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  %sum = graph.add %s0, %s1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %count = graph.add %c0, %c1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}
