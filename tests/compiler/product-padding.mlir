// Dimensions of products that a GPU's library is slow for are padded in programs for GPUs: wide ones whose part on a rank is
// no multiple of 16 bytes of halves, where padding changes no result. Processors have them as they are.
// RUN: dtcc %s --target=cuda --mesh=dp=1 --optimizer=sgd:lr=0.1 --no-eval --emit=spmd -o - | FileCheck %s --check-prefix=GPU
// RUN: dtcc %s --target=cuda --mesh=tp=2 --optimizer=sgd:lr=0.1 --no-eval --emit=spmd -o - | FileCheck %s --check-prefix=HALVES
// RUN: dtcc %s --target=cpu --mesh=dp=1 --optimizer=sgd:lr=0.1 --no-eval --emit=spmd -o - | FileCheck %s --check-prefix=CPU

// The classes are padded, and the loss knows their number; a hidden layer of relu is; exp of its padding would be 1 and is
// summed; 510 units are few.
// GPU: graph.contract {{.*}} -> tensor<4x1088xbf16>
// GPU: graph.contract {{.*}} -> tensor<4x1027x
// GPU: graph.contract {{.*}} -> tensor<4x510xbf16>
// GPU: graph.contract {{.*}}tensor<2112x510xbf16>{{.*}} -> tensor<4x2112x
// GPU: graph.cross_entropy{{.*}}classes = 2051

// A part of 1,026 classes is padded to 1,088; parts of fewer than 1,024 are padded to what two ranks need.
// HALVES: graph.contract {{.*}} -> tensor<4x514xbf16>
// HALVES: graph.contract {{.*}} -> tensor<4x1088x

// CPU: graph.contract {{.*}} -> tensor<4x1027xf32>
// CPU: graph.contract {{.*}} -> tensor<4x2051xf32>

graph.state @first : tensor<1027x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "first", saved_shape = array<i64: 1027, 16>, init = #graph.init<normal, 0.0, 0.1>}
graph.state @second : tensor<1027x1027xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "second", saved_shape = array<i64: 1027, 1027>, init = #graph.init<normal, 0.0, 0.1>}
graph.state @third : tensor<510x1027xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "third", saved_shape = array<i64: 510, 1027>, init = #graph.init<normal, 0.0, 0.1>}
graph.state @head : tensor<2051x510xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 2051, 510>, init = #graph.init<normal, 0.0, 0.1>}
func.func @loss(%x: tensor<4x16xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<4xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w1 = graph.read @first : tensor<1027x16xf32>
  %a = graph.contract "bk,nk->bn" %x, %w1 : (tensor<4x16xf32>, tensor<1027x16xf32>) -> tensor<4x1027xf32>
  %b = graph.relu %a : tensor<4x1027xf32>
  %w2 = graph.read @second : tensor<1027x1027xf32>
  %c = graph.contract "bk,nk->bn" %b, %w2 : (tensor<4x1027xf32>, tensor<1027x1027xf32>) -> tensor<4x1027xf32>
  %d = graph.exp %c : tensor<4x1027xf32>
  %w3 = graph.read @third : tensor<510x1027xf32>
  %e = graph.contract "bk,nk->bn" %d, %w3 : (tensor<4x1027xf32>, tensor<510x1027xf32>) -> tensor<4x510xf32>
  %w4 = graph.read @head : tensor<2051x510xf32>
  %logits = graph.contract "bk,nk->bn" %e, %w4 : (tensor<4x510xf32>, tensor<2051x510xf32>) -> tensor<4x2051xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<4x2051xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
