// Rows of few cells share a block of threads: 49 cells have a warp, two cells a thread; 24 cells in vectors have 8 threads. A
// GPU computes what a processor does, in f32 and bf16.
// REQUIRES: emulated-gpu
// RUN: rm -rf %t && mkdir -p %t/data && cd %t
// RUN: %python %S/../Inputs/classes.py data 64
// DEFINE: %{train} = --data=data --steps=4
// RUN: dtcc %s --precision=f32 -o cpu && ./cpu %{train} --metrics=cpu.jsonl
// RUN: dtcc %s --precision=f32 --mesh=dp=1 --target=cuda -o wide && %emulated ./wide %{train} --metrics=wide.jsonl
// RUN: dtcc %s --precision=bf16 --mesh=dp=1 --target=cuda -o gpu && %emulated ./gpu %{train} --metrics=gpu.jsonl
// RUN: %source/tools/compare-losses cpu.jsonl wide.jsonl 1e-5 && %source/tools/compare-losses cpu.jsonl gpu.jsonl 1e-2
// RUN: dtcc %s --precision=f32 --mesh=dp=1 --target=cuda --emit=ptx -o - | FileCheck %s
// CHECK: .maxntid 256
// CHECK: shfl.sync.bfly.b32 {{.*}}, 16, 31
// CHECK: .maxntid 64
// CHECK-NOT: shfl.sync.bfly.b32 {{.*}}, 8, 31
// CHECK: shfl.sync.bfly.b32 {{.*}}, 4, 31

graph.state @embedding : tensor<64x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "embedding", saved_shape = array<i64: 64, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @long : tensor<96x49x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "long", saved_shape = array<i64: 96, 49, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @short : tensor<96x24x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "short", saved_shape = array<i64: 96, 24, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<64x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 64, 16>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%ids: tensor<4x8xi64> {graph.name = "ids", graph.role = "data"}, %labels: tensor<4x8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %table = graph.read @embedding : tensor<64x16xf32>
  %x = graph.embedding %table, %ids : (tensor<64x16xf32>, tensor<4x8xi64>) -> tensor<4x8x16xf32>
  %a = graph.read @long : tensor<96x49x16xf32>
  %scores = graph.contract "btc,gvc->btgv" %x, %a : (tensor<4x8x16xf32>, tensor<96x49x16xf32>) -> tensor<4x8x96x49xf32>
  %shares = graph.softmax %scores [3] : tensor<4x8x96x49xf32>
  %y = graph.contract "btgv,gvc->btc" %shares, %a : (tensor<4x8x96x49xf32>, tensor<96x49x16xf32>) -> tensor<4x8x16xf32>
  %b = graph.read @short : tensor<96x24x16xf32>
  %others = graph.contract "btc,gvc->btgv" %x, %b : (tensor<4x8x16xf32>, tensor<96x24x16xf32>) -> tensor<4x8x96x24xf32>
  %parts = graph.softmax %others [3] : tensor<4x8x96x24xf32>
  %z = graph.contract "btgv,gvc->btc" %parts, %b : (tensor<4x8x96x24xf32>, tensor<96x24x16xf32>) -> tensor<4x8x16xf32>
  %sum = graph.add %y, %z : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %w = graph.read @head : tensor<64x16xf32>
  %logits = graph.contract "btc,vc->btv" %sum, %w : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
  %loss, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<4x8x64xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %loss, %count : tensor<f32>, tensor<f32>
}
