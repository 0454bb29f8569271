// Parameters in the type that their readers compute in: one that is cast as it is and behind a transpose, one that is
// read in f32 too, one that is frozen.
// RUN: dtcc-opt %s --spmd-apply-plan="parallelism=dp=2,zero=1" --spmd-assign-compute-types | FileCheck %s --check-prefix=READ
// RUN: dtcc-opt %s --spmd-apply-plan="parallelism=dp=2,zero=0" --spmd-assign-compute-types --spmd-form-units --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=ZERO
// RUN: dtcc-opt %s --spmd-apply-plan="parallelism=dp=2,zero=1" --spmd-assign-compute-types --spmd-form-units --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=ONE
// RUN: dtcc-opt %s --spmd-apply-plan="parallelism=dp=2,zero=3" --spmd-assign-compute-types --spmd-form-units --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=THREE
// RUN: dtcc-opt %s --spmd-apply-plan="parallelism=dp=2,zero=3" --spmd-assign-compute-types --spmd-form-units --spmd-lower-to-program --spmd-place-units --exec-expand-composites --exec-fuse --exec-bufferize | FileCheck %s --check-prefix=EXEC
// RUN: dtcc-opt %s --spmd-apply-plan="parallelism=dp=2,zero=1" --spmd-assign-compute-types --spmd-form-units --spmd-lower-to-program --spmd-place-units --exec-expand-composites --exec-fuse --exec-bufferize | FileCheck %s --check-prefix=COPY

// READ-DAG: graph.state @w {{.*}}spmd.compute = bf16
// READ-DAG: graph.state @frozen {{.*}}spmd.compute = bf16
// READ-NOT: graph.state @scale {{.*}}spmd.compute
// READ: %[[W:.*]] = graph.read @w : !spmd.tensor<4x4xbf16
// READ: %[[S:.*]] = graph.read @scale : !spmd.tensor<4xf32
// READ: graph.read @frozen : !spmd.tensor<4x4xbf16
// READ-NOT: graph.cast %[[W]]
// READ: graph.cast %[[S]]
// READ: graph.transpose %[[W]] {{.*}} -> !spmd.tensor<4x4xbf16

// Every rank keeps master and copy, whole; one pass writes both. A frozen parameter is stored as it is read, alone.
// ZERO: spmd.bucket parameter @params.[[#M:]] : 32 x f32{{$}}
// ZERO: spmd.bucket compute @compute.[[#M]] : 32 x bf16 of @params.[[#M]]{{$}}
// ZERO: spmd.bucket gradient @grads.[[#M]] : 32 x f32
// ZERO: spmd.bucket parameter @params.[[#]] : 16 x bf16
// ZERO: spmd.view @compute.[[#M]][0] : tensor<4x4xbf16>
// ZERO: spmd.update_bucket @params.[[#M]], {{.*}} copy @compute.[[#M]]
// ZERO-NOT: gather

// ZeRO-1 shares the masters, which nobody reads, and gathers the copy: half the bytes.
// ONE: spmd.bucket parameter @params.[[#M:]] : 32 x f32 flat ["dp"]
// ONE: spmd.bucket compute @compute.[[#M]] : 32 x bf16 of @params.[[#M]]{{$}}
// ONE: spmd.update_bucket @params.[[#M]], {{.*}} flat ["dp"] copy @compute.[[#M]]
// ONE-NEXT: spmd.gather_bucket @compute.[[#M]] over ["dp"]
// ONE: spmd.gather_bucket @params.

// ZeRO-3 keeps no copy: a unit is narrowed on its way.
// THREE-NOT: spmd.bucket compute
// THREE: spmd.gather_unit @params.{{.*}} : tensor<32xbf16>
// THREE-NOT: copy @

// The share is rounded to where the unit will be, and gathered in place.
// EXEC: exec.kernel {{.*}} memref<16xf32>{{.*}} : memref<16xbf16
// EXEC: exec.collective all_gather sum on @over.dp ins(%{{.*}} : memref<16xbf16>) outs(%{{.*}} : memref<32xbf16>)

// COPY: exec.buffer @params.[[#M:]] : 64 in @state
// COPY: exec.library "sgd" {{.*}} memref<16xf32>, memref<16xbf16>)
// COPY: exec.collective all_gather sum on @over.dp ins(%{{.*}} : memref<16xbf16>) outs(%{{.*}} : memref<32xbf16>)

graph.state @w : tensor<4x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @v : tensor<4x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "v", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @scale : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "scale", saved_shape = array<i64: 4>, init = #graph.init<zero>}
graph.state @frozen : tensor<4x4xf32> {role = #graph<role parameter>, trainable = false, decay = false, saved_name = "frozen", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.02>}
func.func @step(%x: tensor<8x4xbf16> {graph.name = "x", graph.role = "data"}, %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4x4xf32>
  %v = graph.read @v : tensor<4x4xf32>
  %scale = graph.read @scale : tensor<4xf32>
  %frozen = graph.read @frozen : tensor<4x4xf32>
  %wh = graph.cast %w {origin = 0 : i64, phase = "F"} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %vh = graph.cast %v {origin = 10 : i64, phase = "F"} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %fh = graph.cast %frozen {origin = 1 : i64, phase = "F"} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %sh = graph.cast %scale {origin = 2 : i64, phase = "F"} : (tensor<4xf32>) -> tensor<4xbf16>
  %t = graph.transpose %w [1, 0] {origin = 3 : i64, phase = "F"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %th = graph.cast %t {origin = 4 : i64, phase = "F"} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %a = graph.contract "bk,kn->bn" %x, %wh {origin = 5 : i64, phase = "F"} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %b = graph.contract "bk,kn->bn" %a, %th {origin = 6 : i64, phase = "F"} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %bb = graph.contract "bk,kn->bn" %b, %vh {origin = 11 : i64, phase = "F"} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %sb = graph.broadcast %sh [1] {origin = 12 : i64, phase = "F"} : (tensor<4xbf16>) -> tensor<8x4xbf16>
  %bs = graph.add %bb, %sb {origin = 13 : i64, phase = "F"} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %logits = graph.contract "bk,kn->bn" %bs, %fh {origin = 7 : i64, phase = "F"} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xf32>
  %sb32 = graph.broadcast %scale [1] {origin = 14 : i64, phase = "F"} : (tensor<4xf32>) -> tensor<8x4xf32>
  %scaled = graph.add %logits, %sb32 {origin = 8 : i64, phase = "F"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %sum, %count, %lse = graph.cross_entropy %scaled, %labels {ignore_index = -100 : i64, origin = 9 : i64, phase = "F"} : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  %d = graph.cross_entropy_grad %scaled, %labels, %lse {ignore_index = -100 : i64, origin = 9 : i64, phase = "I", origin_factors = array<i64: 0, 1>} : (tensor<8x4xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x4xf32>
  %dh = graph.cast %d {origin = 8 : i64, phase = "I", origin_factors = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
  %ds = graph.reduce sum %d [0] {origin = 14 : i64, phase = "W", origin_factors = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %db = graph.contract "bn,kn->bk" %dh, %fh {origin = 7 : i64, phase = "I", origin_factors = array<i64: 0, 1, 2>} : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %dv = graph.contract "bk,bn->kn" %b, %db {origin = 11 : i64, phase = "W", origin_factors = array<i64: 2, 1, 0>} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
  %dw = graph.contract "bk,bn->kn" %x, %db {origin = 5 : i64, phase = "W", origin_factors = array<i64: 2, 1, 0>} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
  %norm = graph.update %count, (%dw, %dv, %ds) to [@w, @v, @scale] {optimizer = #graph.sgd<lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<f32>
  return %sum, %count, %norm : tensor<f32>, tensor<f32>, tensor<f32>
}
