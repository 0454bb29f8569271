// Flags become numbers of bf16 on processors that have no instruction for it, with any C++ compiler's linker.
// REQUIRES: x86
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy; r = numpy.random.default_rng(1); numpy.save('x.npy', r.random((64, 16), numpy.float32)); numpy.save('labels.npy', r.integers(0, 8, 64))"
// DEFINE: %{train} = --data=. --steps=8
// RUN: dtcc %s --precision=f32 --optimizer=sgd:lr=0.1 -o f32 && ./f32 %{train} --metrics=f32.jsonl
// RUN: dtcc %s --precision=bf16 --optimizer=sgd:lr=0.1 --mcpu=x86-64-v3 -o bf16 && ./bf16 %{train} --metrics=bf16.jsonl
// RUN: %source/tools/compare-losses f32.jsonl bf16.jsonl 5e-3
graph.state @head : tensor<16x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 16, 8>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x16xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %half = graph.constant dense<0.5> : tensor<8x16xf32> : tensor<8x16xf32>
  %flags = graph.compare gt %x, %half : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
  %numbers = graph.cast %flags : (tensor<8x16xi1>) -> tensor<8x16xf32>
  %w = graph.read @head : tensor<16x8xf32>
  %z = graph.contract "bc,cv->bv" %numbers, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %sum, %count, %lse = graph.cross_entropy %z, %labels : (tensor<8x8xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
