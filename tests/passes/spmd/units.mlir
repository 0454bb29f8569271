// Units: what is gathered and reduced together, and when. Each state is a unit here: the model is smaller than a latency.
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,microbatches=2,zero=3" --spmd-form-units="latency-bytes=16" --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=FULL
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,microbatches=2,zero=2" --spmd-form-units="latency-bytes=16" --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=GRAD
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,zero=1" --spmd-form-units="latency-bytes=64" --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=ONE
// RUN: sed 's/#graph.adam<\([^>]*\)>/#graph.muon<lr = 0.1, momentum = 0.9, weight_decay = 0.1, nesterov = true, steps = 5, a = 3.4445, b = -4.775, c = 2.0315, eps = 1.0e-7, match_rms = false, rest = #graph.adam<\1>>/' %S/Inputs/mlp.mlir > %t
// RUN: dtcc-opt %t --spmd-apply-plan="parallelism=dp=2,zero=1" --spmd-form-units="latency-bytes=64 bytes-per-flop=1e-3" | FileCheck %s --check-prefix=SMALL
// RUN: dtcc-opt %t --spmd-apply-plan="parallelism=dp=2,zero=1" --spmd-form-units="latency-bytes=64 bytes-per-flop=1" | FileCheck %s --check-prefix=MATRICES
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,microbatches=2,zero=0" --spmd-form-units --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=LATE
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-hybrid.json" --spmd-form-units --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=HYBRID
// RUN: dtcc-opt %S/Inputs/blocks.mlir --graph-differentiate --spmd-apply-plan="parallelism=dp=2,zero=3" --spmd-form-units | FileCheck %s --check-prefix=BLOCKS

// ZeRO-3 stores shares; gathers w2 while w1 is read, keeps it for the backward pass that follows at once, needs no
// other weight there; the gradients of a unit go to their shares as soon as they are complete, in every micro-batch.
// FULL: graph.state @w2 {{.*}} spmd.flat = ["dp"], {{.*}}spmd.unit = "w2", spmd.zero = 3
// FULL: spmd.bucket parameter @params.2 : 64 x f32 flat ["dp"] {unit = "w2"}
// FULL: spmd.bucket gradient @grads.2 : 64 x f32 of @params.2 flat ["dp"]
// FULL: spmd.bucket transient @work.2 : 64 x f32 of @params.2
// FULL: spmd.bucket slot @slots.2.0 : 64 x f32 of @params.2 slot 0 flat ["dp"]
// FULL: spmd.phase @microbatch repeat 2
// FULL: %[[W1:.*]] = spmd.gather_unit @params.0 over ["dp"] : tensor<32xf32>
// FULL: spmd.unit_view %[[W1]][0] : tensor<32xf32> -> tensor<4x6xf32>
// FULL: spmd.release %[[W1]]
// FULL: %[[W2:.*]] = spmd.gather_unit @params.2 over ["dp"] : tensor<64xf32>
// FULL-NOT: spmd.gather_unit
// FULL: spmd.accumulate %{{.*}} into @work.2[0] : tensor<6x9xf32>
// FULL-NEXT: spmd.reduce_bucket @work.2 scatter ["dp"] into @grads.2
// FULL: spmd.release %[[W2]]
// FULL: spmd.reduce_bucket @work.1 scatter ["dp"] into @grads.1
// FULL: spmd.reduce_bucket @work.0 scatter ["dp"] into @grads.0
// FULL: spmd.phase @update
// FULL-NOT: reduce_bucket
// FULL: spmd.update_bucket @params.2, %{{.*}} flat ["dp"] {{.*}} : tensor<32xf32>
// FULL-NOT: spmd.gather_bucket

// ZeRO-2 stores whole parameters and gathers them after the update.
// GRAD: spmd.bucket parameter @params.2 : 64 x f32 {unit = "w2"}
// GRAD: spmd.bucket gradient @grads.2 : 64 x f32 of @params.2 flat ["dp"]
// GRAD-NOT: spmd.gather_unit
// GRAD: spmd.reduce_bucket @work.2 scatter ["dp"] into @grads.2
// GRAD: spmd.phase @update
// GRAD: spmd.gather_bucket @params.2 over ["dp"]

// ZeRO-1 with one micro-batch: buckets in the order of the backward pass, reduced in it.
// ONE: spmd.bucket gradient @grads.0 : 64 x f32 of @params.0 {unit = "b1 .. w1"}
// ONE: spmd.bucket gradient @grads.1 : 64 x f32 of @params.1 {unit = "w2"}
// ONE: spmd.phase @microbatch
// ONE: spmd.accumulate %{{.*}} into @grads.1[0] : tensor<6x9xf32>
// ONE-NEXT: spmd.reduce_bucket @grads.1 scatter ["dp"]
// ONE: spmd.accumulate %{{.*}} into @grads.0[0] : tensor<4x6xf32>
// ONE-NEXT: spmd.reduce_bucket @grads.0 scatter ["dp"]
// ONE: spmd.phase @update
// ONE-NOT: reduce_bucket

// A rank orthogonalizes one matrix more for each bucket: the longer that takes, the larger are buckets.
// SMALL: graph.state @w1 {{.*}}spmd.unit = "b1 .. w1"
// SMALL: graph.state @w2 {{.*}}spmd.unit = "w2"
// MATRICES-NOT: spmd.unit

// With several, whole gradients are reduced once, in the backward pass of the last. 472 bytes are one bucket.
// LATE: spmd.phase @microbatch repeat 2
// LATE: spmd.accumulate %{{.*}} into @grads.0
// LATE: spmd.reduce_bucket @grads.0 sum ["dp"] slot 1
// LATE: spmd.phase @update
// LATE-NOT: spmd.reduce_bucket

// Shares over the inner axis of two that split the batch; over the outer one they are summed, once a step.
// HYBRID: spmd.bucket parameter @params.0 : 128 x f32 flat ["dp.1"]
// HYBRID: spmd.gather_unit @params.0 over ["dp.1"]
// HYBRID: spmd.reduce_bucket @work.0 scatter ["dp.1"] into @grads.0
// HYBRID: spmd.phase @update
// HYBRID: spmd.reduce_bucket @grads.0 sum ["dp.0"]
// HYBRID: spmd.all_reduce sum %{{.*}} over ["dp.1"] : tensor<f32>

// Blocks repeat; what stands before and after them has its own unit, or joins a neighbour if it is small.
// BLOCKS: graph.state @embedding {{.*}}spmd.unit = "embedding.weight"
// BLOCKS: graph.state @h0w {{.*}}spmd.unit = "h.0"
// BLOCKS: graph.state @h0b {{.*}}spmd.unit = "h.0"
// BLOCKS: graph.state @h1w {{.*}}spmd.unit = "h.1.w .. scale"
// BLOCKS: graph.state @h1b {{.*}}spmd.unit = "h.1.w .. scale"
// BLOCKS: graph.state @scale {{.*}}spmd.unit = "h.1.w .. scale"
// BLOCKS: graph.state @head {{.*}}spmd.unit = "head.weight"
