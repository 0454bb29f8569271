// Convolutions of halves by cuDNN, or by kernels of ours where the library has no engine or a measurement says so.
// REQUIRES: emulated-gpu
// UNSUPPORTED: real-gpu
// RUN: rm -rf %t && mkdir -p %t/data && cd %t
// RUN: %python %S/../Inputs/images.py data
// DEFINE: %{train} = %emulated ./gpu --data=data --steps=3
// RUN: dtcc %s --precision=bf16 --mesh=dp=1 -o cpu && ./cpu --data=data --steps=3 --metrics=cpu.jsonl
// RUN: dtcc %s --precision=bf16 --mesh=dp=2 --target=cuda -o gpu
// RUN: %{train} --save=plain.safetensors --metrics=gpu.jsonl 2>&1 | FileCheck %s --implicit-check-not=note:
// CHECK: step 3/3
// RUN: %source/tools/compare-losses cpu.jsonl gpu.jsonl 1e-2

// The emulated library is slower than any kernel unless it is told to be fast.
// RUN: env DTCC_EMULATED_CUDNN=fast %{train} --tune=library --save=library.safetensors
// RUN: FileCheck %s --check-prefix=LIBRARY < library && cmp plain.safetensors library.safetensors
// LIBRARY-DAG: cudnn 9.26.0; convolution bf16 to bf16 {{.*}}	cudnn 7 1 0 0 0 0 0 0
// LIBRARY-DAG: cudnn 9.26.0; convolution_input_grad bf16 to bf16 {{.*}}	cudnn 7 1 0 0 0 0 0 0
// LIBRARY-DAG: cudnn 9.26.0; convolution_kernel_grad bf16 to {{.*}}	cudnn 7 1 0 0 0 0 0 0
// RUN: %{train} --tune=ours --save=ours.safetensors && FileCheck %s --check-prefix=OURS < ours
// OURS-DAG: cudnn 9.26.0; convolution bf16 {{.*}}	ours 0 0 0 0 0 0 0 0
// OURS-DAG: cudnn 9.26.0; convolution_input_grad bf16 {{.*}}	ours 0 0 0 0 0 0 0 0
// OURS-DAG: cudnn 9.26.0; convolution_kernel_grad bf16 {{.*}}	ours 0 0 0 0 0 0 0 0
// RUN: env DTCC_EMULATED_CUDNN=none %{train} --save=none.safetensors --metrics=none.jsonl 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: note: a convolution runs in dtcc's own kernels, which are slower: cuDNN 9.26.0: {{.*}}no engine
// RUN: cmp ours.safetensors none.safetensors && %source/tools/compare-losses cpu.jsonl none.jsonl 1e-2

graph.state @first : tensor<8x16x3x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "first", saved_shape = array<i64: 8, 16, 3, 3>, init = #graph.init<normal, 0.0, 0.1>}
graph.state @second : tensor<8x8x3x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "second", saved_shape = array<i64: 8, 8, 3, 3>, init = #graph.init<normal, 0.0, 0.1>}
func.func @loss(%x: tensor<2x16x4x4xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<2x4x4xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %k = graph.read @first : tensor<8x16x3x3xf32>
  %y = graph.convolution %x, %k {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x16x4x4xf32>, tensor<8x16x3x3xf32>) -> tensor<2x8x4x4xf32>
  %h = graph.silu %y : tensor<2x8x4x4xf32>
  %l = graph.read @second : tensor<8x8x3x3xf32>
  %z = graph.convolution %h, %l {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x8x4x4xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x4x4xf32>
  %t = graph.transpose %z [0, 2, 3, 1] : (tensor<2x8x4x4xf32>) -> tensor<2x4x4x8xf32>
  %sum, %count, %lse = graph.cross_entropy %t, %labels : (tensor<2x4x4x8xf32>, tensor<2x4x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x4x4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
