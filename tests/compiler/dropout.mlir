// A cell is dropped or kept by its place in the whole tensor, whoever computes it: one
// rank, ranks that share the batch or the hidden units, or several micro-batches.
// RUN: rm -rf %t && mkdir %t && %python %S/Inputs/random_npy.py %t
// RUN: dtcc %s --mesh=dp=1 -o %t/one && %t/one --data=%t --steps=8 --seed=5 --metrics=%t/one.jsonl
// RUN: dtcc %s --mesh=dp=2 --microbatches=2 -o %t/two && %t/two --data=%t --steps=8 --seed=5 --metrics=%t/two.jsonl
// RUN: dtcc %s --mesh=dp=2,tp=2 -o %t/four && %t/four --data=%t --steps=8 --seed=5 --metrics=%t/four.jsonl
// RUN: %source/tools/compare-losses %t/one.jsonl %t/two.jsonl 1e-5
// RUN: %source/tools/compare-losses %t/one.jsonl %t/four.jsonl 1e-5
// Another seed drops other cells.
// RUN: %t/one --data=%t --steps=8 --seed=6 --metrics=%t/other.jsonl
// RUN: not %source/tools/compare-losses %t/one.jsonl %t/other.jsonl 1e-3
graph.state @w1 : tensor<12x20xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1",
    saved_shape = array<i64: 12, 20>, init = #graph.init<uniform, -0.5, 0.5>}
graph.state @w2 : tensor<20x9xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2",
    saved_shape = array<i64: 20, 9>, init = #graph.init<uniform, -0.5, 0.5>}
func.func @loss(%x: tensor<8x12xf32> {graph.name = "x", graph.role = "data"},
                %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %0 = graph.read @w1 : tensor<12x20xf32>
  %1 = graph.read @w2 : tensor<20x9xf32>
  %2 = graph.contract "bk,kn->bn" %x, %0 : (tensor<8x12xf32>, tensor<12x20xf32>) -> tensor<8x20xf32>
  %3 = graph.relu %2 : tensor<8x20xf32>
  %4 = graph.dropout %3 {ratio = 3.0e-1 : f64, id = 1 : i64} : tensor<8x20xf32>
  %5 = graph.contract "bn,nv->bv" %4, %1 : (tensor<8x20xf32>, tensor<20x9xf32>) -> tensor<8x9xf32>
  %sum, %count, %lse = graph.cross_entropy %5, %labels : (tensor<8x9xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
