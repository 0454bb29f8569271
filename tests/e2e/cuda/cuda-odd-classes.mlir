// A number of classes that no unit of memory divides: it is padded on GPUs, the gradient of the logits is rounded as it is
// stored, and losses are those of a processor, which pads nothing; alone, in micro-batches and with the classes split.
// REQUIRES: emulated-gpu
// RUN: rm -rf %t && mkdir -p %t/data && cd %t
// RUN: %python %S/../Inputs/classes.py data 2051
// DEFINE: %{train} = --data=data --steps=4
// RUN: dtcc %s --precision=f32 -o cpu && ./cpu %{train} --metrics=cpu.jsonl
// RUN: dtcc %s --precision=bf16 -o narrow && ./narrow %{train} --metrics=narrow.jsonl
// RUN: dtcc %s --precision=f32 --mesh=dp=1 --target=cuda -o wide && %emulated ./wide %{train} --metrics=wide.jsonl
// RUN: dtcc %s --precision=bf16 --mesh=dp=1 --target=cuda -o gpu && %emulated ./gpu %{train} --metrics=gpu.jsonl
// RUN: dtcc %s --precision=fp16 --mesh=dp=2 --target=cuda -o half && %emulated ./half %{train} --metrics=half.jsonl
// RUN: dtcc %s --precision=bf16 --mesh=tp=2 --microbatches=2 --target=cuda -o split && %emulated ./split %{train} --metrics=split.jsonl
// RUN: %source/tools/compare-losses cpu.jsonl wide.jsonl 1e-5
// RUN: %source/tools/compare-losses narrow.jsonl gpu.jsonl 1e-3 && %source/tools/compare-losses cpu.jsonl gpu.jsonl 1e-2
// RUN: %source/tools/compare-losses cpu.jsonl half.jsonl 1e-2 && %source/tools/compare-losses cpu.jsonl split.jsonl 1e-2

// Evaluations count the classes that there are; a checkpoint has no padding.
// DEFINE: %{long} = --data=data --steps=7 --lr=0.05 --eval-data=data --eval-steps=1
// RUN: dtcc %s --precision=f32 --mesh=dp=2 --zero=3 --target=cuda -o sharded
// RUN: ./cpu %{long} --metrics=cpu.m && %emulated ./sharded %{long} --metrics=gpu.m --checkpoint=kept
// RUN: %python %S/../Inputs/evaluations.py close cpu.m gpu.m && FileCheck %s --input-file=gpu.m
// CHECK: "eval_accuracy":{{0.[1-9]|1.0}}
// RUN: ./cpu --checkpoint=kept --eval-only --eval-data=data --eval-steps=1 --metrics=again.m
// RUN: FileCheck %s --input-file=again.m

graph.state @embedding : tensor<2051x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "embedding", saved_shape = array<i64: 2051, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<2051x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 2051, 16>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%ids: tensor<4x8xi64> {graph.name = "ids", graph.role = "data"}, %labels: tensor<4x8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %table = graph.read @embedding : tensor<2051x16xf32>
  %x = graph.embedding %table, %ids : (tensor<2051x16xf32>, tensor<4x8xi64>) -> tensor<4x8x16xf32>
  %w = graph.read @head : tensor<2051x16xf32>
  %logits = graph.contract "btc,vc->btv" %x, %w : (tensor<4x8x16xf32>, tensor<2051x16xf32>) -> tensor<4x8x2051xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<4x8x2051xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
