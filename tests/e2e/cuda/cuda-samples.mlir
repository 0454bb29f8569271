// Samples that are large go to memory of the GPU while the step before runs, and from there to the inputs when their step
// begins. Runs have the bits of runs whose steps copy the samples by themselves, in any order of work that CUDA allows.
// REQUIRES: emulated-gpu
// UNSUPPORTED: real-gpu
// DEFINE: %{same} = %python %S/../Inputs/same_steps.py
// DEFINE: %{train} = timeout 200 ./gpu --data=data --steps=5 --shuffle=3 --eval-data=data --eval-every=2 --eval-steps=1
// DEFINE: %{alone} = %emulated env DTCC_EMULATED_LOCKABLE_MEMORY=1 %{train} --save=alone --metrics=alone.jsonl
// DEFINE: %{ahead} = %{train} --save=ahead --metrics=ahead.jsonl
// DEFINE: %{check} = cmp alone ahead && %{same} alone.jsonl ahead.jsonl
// RUN: rm -rf %t && mkdir -p %t/data && cd %t
// RUN: %python %S/../Inputs/large_samples.py data

// RUN: dtcc %s --precision=f32 --mesh=dp=1 --target=cuda -o gpu
// RUN: ./gpu --info | FileCheck %s
// CHECK: host     {{[0-9.]+}} MiB of locked host memory a rank: samples on their way to the GPU
// CHECK-NEXT: ahead    4.00 MiB of GPU memory a rank, if so much is free: samples that arrive before their step{{$}}
// RUN: %{alone} && %emulated %{ahead} && %{check}
// RUN: %emulated env DTCC_EMULATED_GPU_SEED=1 %{ahead} --cuda-graph=on && %{check}
// RUN: %emulated env DTCC_EMULATED_GPU_SEED=2 %{ahead} --cuda-graph=off && %{check}

// The samples of the first step come from the host. Those of each later step are sent before the step moves them.
// DEFINE: %{told} = %emulated env DTCC_EMULATED_GPU_LEAST_TOLD=4000000 ./gpu --data=data --steps=3
// RUN: %{told} 2>&1 | FileCheck %s --check-prefix=TOLD
// TOLD: copy of 4194304 bytes from the host
// TOLD: copy of 4194560 bytes from locked memory
// TOLD: copy of 4194304 bytes within its memory
// TOLD: copy of 4194560 bytes from locked memory
// TOLD: copy of 4194304 bytes within its memory
// TOLD-NOT: copy of
// RUN: env DTCC_EMULATED_GPU_MEMORY=0x4000000 %{told} 2>&1 | FileCheck %s --check-prefix=DIRECT
// DIRECT: copy of 4194304 bytes from the host
// DIRECT: copy of 4194304 bytes from locked memory
// DIRECT: copy of 4194304 bytes from locked memory
// DIRECT-NOT: copy of

// A GPU without so much free memory trains as well, and says nothing of it.
// RUN: %emulated env DTCC_EMULATED_GPU_MEMORY=0x4000000 %{ahead} 2>&1 | FileCheck %s --check-prefix=FULL && %{check}
// FULL-NOT: {{error|warning|GPU|ahead}}
// FULL: step 5/5
// FULL-NOT: {{error|warning|GPU|ahead}}

// A run that goes on from a checkpoint.
// RUN: %emulated ./gpu --data=data --steps=2 --shuffle=3 --checkpoint=kept
// RUN: %emulated ./gpu --data=data --steps=5 --shuffle=3 --checkpoint=kept --resume --save=ahead && cmp alone ahead

// Micro-batches; ranks with a GPU each, and ranks that share one.
// RUN: dtcc %s --precision=f32 --mesh=dp=1 --microbatches=4 --target=cuda -o gpu
// RUN: ./gpu --info | FileCheck %s --check-prefix=PARTS
// PARTS: ahead    1.00 MiB of GPU memory a rank
// RUN: %{alone} && %emulated %{ahead} && %{check}
// RUN: %emulated env DTCC_EMULATED_GPU_SEED=3 %{ahead} && %{check}
// RUN: dtcc %s --precision=f32 --mesh=dp=2 --microbatches=2 --zero=1 --target=cuda -o gpu
// RUN: %{alone} && %emulated %{ahead} && %{check}
// RUN: %emulated env DTCC_EMULATED_GPU_SEED=4 %{ahead} && %{check}
// RUN: %emulated env DTCC_EMULATED_GPUS=1 %{ahead} && %{check}

// Samples below 1 MiB a micro-batch are copied by their step.
// RUN: dtcc %s --precision=f32 --mesh=dp=1 --microbatches=8 --target=cuda -o gpu
// RUN: ./gpu --info | FileCheck %s --check-prefix=SMALL
// SMALL-NOT: {{^}}ahead

graph.state @head : tensor<4x65536xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 4, 65536>, init = #graph.init<normal, 0.0, 0.01>}
func.func @loss(%x: tensor<16x65536xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<16xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @head : tensor<4x65536xf32>
  %y = graph.contract "bk,ck->bc" %x, %w : (tensor<16x65536xf32>, tensor<4x65536xf32>) -> tensor<16x4xf32>
  %sum, %count, %lse = graph.cross_entropy %y, %labels : (tensor<16x4xf32>, tensor<16xi64>) -> (tensor<f32>, tensor<f32>, tensor<16xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
