// Windows of one cell are a product of the library, a convolution of cuDNN or a kernel of ours, as --tune measures; all train alike.
// REQUIRES: emulated-gpu
// RUN: rm -rf %t && mkdir -p %t/data && cd %t
// RUN: %python %S/../Inputs/images.py data
// DEFINE: %{train} = %emulated ./gpu --data=data --steps=3
// RUN: dtcc %s --precision=f32 --mesh=dp=1 -o cpu && ./cpu --data=data --steps=3 --metrics=cpu.jsonl
// RUN: dtcc %s --precision=f32 --mesh=dp=2 --target=cuda -o gpu && %{train} --save=plain.safetensors --metrics=gpu.jsonl

// The emulated library is slower than any kernel unless it is told to be fast.
// RUN: %{train} --tune=ours --save=ours.safetensors --metrics=ours.jsonl
// RUN: env DTCC_EMULATED_CUBLASLT=fast %{train} --tune=library --save=library.safetensors
// RUN: FileCheck %s --check-prefix=OURS < ours && FileCheck %s --check-prefix=LIBRARY < library
// OURS-DAG:    cublasLt 13.0.0, cudnn 9.26.0; convolution 1 x 8 x 16 x 16; {{.*}}	ours 0 0 0 0 0 0 0 0
// OURS-DAG:    cublasLt 13.0.0, cudnn 9.26.0; convolution_input_grad 1 x 8 x 16 x 8; {{.*}}	ours 0 0 0 0 0 0 0 0
// OURS-DAG:    cublasLt 13.0.0, cudnn 9.26.0; convolution_kernel_grad 1 x 8 x 16 x 16{{.*}}	ours 0 0 0 0 0 0 0 0
// LIBRARY-DAG: cublasLt 13.0.0, cudnn 9.26.0; convolution 1 x 8 x 16 x 16; {{.*}}	cublaslt 656d756c61746564 1 100000 10 10 10 10 0
// LIBRARY-DAG: cublasLt 13.0.0, cudnn 9.26.0; convolution_input_grad 1 x 8 x 16 x 8; {{.*}}	cublaslt 656d756c61746564 1 100000
// LIBRARY-DAG: cublasLt 13.0.0, cudnn 9.26.0; convolution_kernel_grad 1 x 8 x 16 x 16{{.*}}	cublaslt 656d756c61746564 1 100000
// RUN: cmp plain.safetensors library.safetensors && not cmp plain.safetensors ours.safetensors
// RUN: %source/tools/compare-losses cpu.jsonl gpu.jsonl 1e-5 && %source/tools/compare-losses cpu.jsonl ours.jsonl 1e-5

// What the file has is taken again, whatever is faster now.
// RUN: env DTCC_EMULATED_CUBLASLT=fast %{train} --tune=ours --save=again.safetensors 2>&1 | FileCheck %s --check-prefix=KNOWN --implicit-check-not=note:
// KNOWN: step 3/3
// RUN: cmp ours.safetensors again.safetensors

graph.state @first : tensor<8x16x1x1xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "first", saved_shape = array<i64: 8, 16, 1, 1>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @second : tensor<8x8x1x1xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "second", saved_shape = array<i64: 8, 8, 1, 1>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<2x16x4x4xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<2x4x4xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %k = graph.read @first : tensor<8x16x1x1xf32>
  %y = graph.convolution %x, %k {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>} : (tensor<2x16x4x4xf32>, tensor<8x16x1x1xf32>) -> tensor<2x8x4x4xf32>
  %h = graph.silu %y : tensor<2x8x4x4xf32>
  %l = graph.read @second : tensor<8x8x1x1xf32>
  %z = graph.convolution %h, %l {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>} : (tensor<2x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<2x8x4x4xf32>
  %t = graph.transpose %z [0, 2, 3, 1] : (tensor<2x8x4x4xf32>) -> tensor<2x4x4x8xf32>
  %sum, %count, %lse = graph.cross_entropy %t, %labels : (tensor<2x4x4x8xf32>, tensor<2x4x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x4x4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
