// Units: what is gathered and reduced together, and when. Each state is a unit here: the model is smaller than a latency.
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="mesh=mb=2,dp=2 zero=3" --dist-form-units="latency-bytes=16" --dist-lower-to-program --dist-place-units | FileCheck %s --check-prefix=FULL
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="mesh=mb=2,dp=2 zero=2" --dist-form-units="latency-bytes=16" --dist-lower-to-program --dist-place-units | FileCheck %s --check-prefix=GRAD
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="mesh=dp=2 zero=1" --dist-form-units="latency-bytes=64" --dist-lower-to-program --dist-place-units | FileCheck %s --check-prefix=ONE
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="mesh=mb=2,dp=2 zero=0" --dist-form-units --dist-lower-to-program --dist-place-units | FileCheck %s --check-prefix=LATE
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="plan=%S/Inputs/mlp-hybrid.json" --dist-form-units --dist-lower-to-program --dist-place-units | FileCheck %s --check-prefix=HYBRID
// RUN: dtcc-opt %S/Inputs/blocks.mlir --graph-differentiate --dist-apply-plan="mesh=dp=2 zero=3" --dist-form-units | FileCheck %s --check-prefix=BLOCKS

// ZeRO-3 stores shares; gathers w2 while w1 is read, keeps it for the backward pass that follows at once, needs no
// other weight there; the gradients of a unit go to their shares as soon as they are complete, in every micro-batch.
// FULL: graph.state @w2 {{.*}} dist.flat = ["dp"], {{.*}}dist.unit = "w2", dist.zero = 3
// FULL: dist.bucket parameter @params.2 : 64 x f32 flat ["dp"] {unit = "w2"}
// FULL: dist.bucket gradient @grads.2 : 64 x f32 of @params.2 flat ["dp"]
// FULL: dist.bucket transient @work.2 : 64 x f32 of @params.2
// FULL: dist.bucket slot @slots.2.0 : 64 x f32 of @params.2 slot 0 flat ["dp"]
// FULL: dist.phase @microbatch repeat 2
// FULL: %[[W1:.*]] = dist.gather_unit @params.0 over ["dp"] : tensor<32xf32>
// FULL: dist.unit_view %[[W1]][0] : tensor<32xf32> -> tensor<4x6xf32>
// FULL: dist.release %[[W1]]
// FULL: %[[W2:.*]] = dist.gather_unit @params.2 over ["dp"] : tensor<64xf32>
// FULL-NOT: dist.gather_unit
// FULL: dist.accumulate %{{.*}} into @work.2[0] : tensor<6x9xf32>
// FULL-NEXT: dist.reduce_bucket @work.2 scatter ["dp"] into @grads.2
// FULL: dist.release %[[W2]]
// FULL: dist.reduce_bucket @work.1 scatter ["dp"] into @grads.1
// FULL: dist.reduce_bucket @work.0 scatter ["dp"] into @grads.0
// FULL: dist.phase @update
// FULL-NOT: reduce_bucket
// FULL: dist.update_bucket @params.2, %{{.*}} flat ["dp"] {{.*}} : tensor<32xf32>
// FULL-NOT: dist.gather_bucket

// ZeRO-2 stores whole parameters and gathers them after the update.
// GRAD: dist.bucket parameter @params.2 : 64 x f32 {unit = "w2"}
// GRAD: dist.bucket gradient @grads.2 : 64 x f32 of @params.2 flat ["dp"]
// GRAD-NOT: dist.gather_unit
// GRAD: dist.reduce_bucket @work.2 scatter ["dp"] into @grads.2
// GRAD: dist.phase @update
// GRAD: dist.gather_bucket @params.2 over ["dp"]

// ZeRO-1 with one micro-batch: buckets in the order of the backward pass, reduced in it.
// ONE: dist.bucket gradient @grads.0 : 64 x f32 of @params.0 {unit = "b1 .. w1"}
// ONE: dist.bucket gradient @grads.1 : 64 x f32 of @params.1 {unit = "w2"}
// ONE: dist.phase @microbatch
// ONE: dist.accumulate %{{.*}} into @grads.1[0] : tensor<6x9xf32>
// ONE-NEXT: dist.reduce_bucket @grads.1 scatter ["dp"]
// ONE: dist.accumulate %{{.*}} into @grads.0[0] : tensor<4x6xf32>
// ONE-NEXT: dist.reduce_bucket @grads.0 scatter ["dp"]
// ONE: dist.phase @update
// ONE-NOT: reduce_bucket

// With several, whole gradients are reduced once, in the backward pass of the last. 472 bytes are one bucket.
// LATE: dist.phase @microbatch repeat 2
// LATE: dist.accumulate %{{.*}} into @grads.0
// LATE: dist.reduce_bucket @grads.0 sum ["dp"] slot 1
// LATE: dist.phase @update
// LATE-NOT: dist.reduce_bucket

// Shares over the inner axis of two that split the batch; over the outer one they are summed, once a step.
// HYBRID: dist.bucket parameter @params.0 : 128 x f32 flat ["dp.1"]
// HYBRID: dist.gather_unit @params.0 over ["dp.1"]
// HYBRID: dist.reduce_bucket @work.0 scatter ["dp.1"] into @grads.0
// HYBRID: dist.phase @update
// HYBRID: dist.reduce_bucket @grads.0 sum ["dp.0"]
// HYBRID: dist.all_reduce sum %{{.*}} over ["dp.1"] : tensor<f32>

// Blocks repeat; what stands before and after them has its own unit, or joins a neighbour if it is small.
// BLOCKS: graph.state @embedding {{.*}}dist.unit = "embedding.weight"
// BLOCKS: graph.state @h0w {{.*}}dist.unit = "h.0"
// BLOCKS: graph.state @h0b {{.*}}dist.unit = "h.0"
// BLOCKS: graph.state @h1w {{.*}}dist.unit = "h.1.w .. scale"
// BLOCKS: graph.state @h1b {{.*}}dist.unit = "h.1.w .. scale"
// BLOCKS: graph.state @scale {{.*}}dist.unit = "h.1.w .. scale"
// BLOCKS: graph.state @head {{.*}}dist.unit = "head.weight"
