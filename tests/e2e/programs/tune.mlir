// --tune on processors: products and convolutions by the library or by kernels of ours, as is faster; the choices lie in a
// file and in checkpoints, so that a resumed run repeats the bits.
// RUN: rm -rf %t && mkdir -p %t/data && cd %t
// RUN: %python %S/../Inputs/images.py data 64
// DEFINE: %{train} = ./run --data=data --steps=6
// RUN: dtcc %s --precision=f32 --mesh=dp=2 -o run && %{train} --save=plain.safetensors --metrics=plain.jsonl

// What is measured trains alike, within rounding, and is not measured again.
// RUN: %{train} --tune=choices --metrics=tuned.jsonl 2>&1 | FileCheck %s --check-prefix=MEASURED
// MEASURED: note: measured [[#]] operations into choices
// RUN: %source/tools/compare-losses plain.jsonl tuned.jsonl 1e-5
// RUN: FileCheck %s --check-prefix=CHOICES < choices
// CHOICES: dtcc choices 1
// CHOICES-DAG: thread; {{.*}}oneDNN{{.*}}; convolution 4 x 1 x 16 x 32; f32 to f32; {{.*}}; accumulate 0	{{onednn|ours}} 0 0 0 0 0 0 0 0
// CHOICES-DAG: thread; {{.*}}oneDNN{{.*}}; convolution_kernel_grad 4 x 1 x 16 x 32; {{.*}}	{{onednn|ours}} 0
// CHOICES-DAG: thread; {{.*}}oneDNN{{.*}}; matmul 1 x 4 x 24 x 2048; f32 to f32; lhs {{.*}}; rhs {{.*}}; out {{.*}}	{{onednn|onednn-packed|openblas|mkl|ours}} 0
// RUN: %{train} --tune=choices --save=again.safetensors 2>&1 | FileCheck %s --check-prefix=KNOWN --implicit-check-not=note:
// KNOWN: step 6/6
// RUN: %{train} --tune=choices --save=twice.safetensors && cmp again.safetensors twice.safetensors

// A choice is obeyed, whatever is faster: all by kernels of ours are other bits than all by the rule.
// RUN: sed -E 's/	[a-z-]+ /	ours /' choices > ours && %{train} --tune=ours --save=ours.safetensors 2>&1 | FileCheck %s --check-prefix=KNOWN --implicit-check-not=note:
// RUN: not cmp -s plain.safetensors ours.safetensors

// A resumed run goes on by the checkpoint's choices, with the file, without it, and with another one.
// RUN: ./run --data=data --steps=3 --tune=ours --checkpoint=folder
// RUN: grep -c '\\tours 0 0' folder/step-3/manifest.json
// RUN: cp -r folder other && cp -r folder elsewhere
// RUN: %{train} --checkpoint=folder --resume --save=resumed.safetensors 2>&1 | FileCheck %s --check-prefix=KNOWN --implicit-check-not="note: the"
// RUN: cmp ours.safetensors resumed.safetensors
// RUN: sed -E 's/	[a-z-]+ /	onednn /' choices > library
// RUN: %{train} --checkpoint=other --resume --tune=library --save=resumed.safetensors && cmp ours.safetensors resumed.safetensors
// RUN: diff folder/step-6/manifest.json other/step-6/manifest.json

// Another plan has other products: they are computed by the rule, and the run says so.
// RUN: dtcc %s --precision=f32 --mesh=dp=1 -o run && %{train} --checkpoint=elsewhere --resume 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: note: the checkpoint has no choice that is possible here for [[#]] operations: they are computed as without --tune, and may round otherwise than before
// RUN: not grep '"choices"' elsewhere/step-6/manifest.json

// A file that is something else is not written over.
// RUN: echo mine > notes && not %{train} --tune=notes 2>&1 | FileCheck %s --check-prefix=OTHER && grep -x mine notes
// OTHER: error: {{.*}}--tune=notes must be a file that --tune wrote, or none

graph.state @kernel : tensor<32x16x3x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "kernel", saved_shape = array<i64: 32, 16, 3, 3>, init = #graph.init<normal, 0.0, 0.1>}
graph.state @head : tensor<24x32x8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 24, 32, 8, 8>, init = #graph.init<normal, 0.0, 0.02>}
func.func @loss(%x: tensor<8x16x8x8xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %k = graph.read @kernel : tensor<32x16x3x3xf32>
  %y = graph.convolution %x, %k {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<8x16x8x8xf32>, tensor<32x16x3x3xf32>) -> tensor<8x32x8x8xf32>
  %h = graph.silu %y : tensor<8x32x8x8xf32>
  %w = graph.read @head : tensor<24x32x8x8xf32>
  %z = graph.contract "bchw,vchw->bv" %h, %w : (tensor<8x32x8x8xf32>, tensor<24x32x8x8xf32>) -> tensor<8x24xf32>
  %sum, %count, %lse = graph.cross_entropy %z, %labels : (tensor<8x24xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
