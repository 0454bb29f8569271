// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,microbatches=2" --spmd-lower-to-program | FileCheck %s --check-prefix=DATA
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,microbatches=2,zero=1" --spmd-lower-to-program | FileCheck %s --check-prefix=ZERO
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-classes.json" --spmd-lower-to-program | FileCheck %s --check-prefix=CLASSES
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=microbatches=1" --spmd-lower-to-program | FileCheck %s --check-prefix=ONE

// DATA: graph.state @b1 {{.*}}spmd.bucket = @params.0, {{.*}}spmd.offset = 32 : i64
// DATA: spmd.bucket parameter @params.0 : 112 x f32
// DATA: spmd.bucket gradient @grads.0 : 112 x f32 of @params.0
// DATA: spmd.bucket slot @slots.0.1 : 112 x f32 of @params.0 slot 1
// DATA: spmd.phase @microbatch repeat 2
// DATA: spmd.input "x" of !spmd.tensor<8x4xf32, @mesh, [{mb,dp},{}]> {role = "data"} : tensor<2x4xf32>
// DATA-NOT: spmd.all
// DATA: spmd.accumulate %{{.*}} into @scalars[0] : tensor<f32>
// DATA: spmd.accumulate %{{.*}} into @scalars[1] : tensor<f32>
// DATA: spmd.accumulate %{{.*}} into @grads.0[48] : tensor<6x9xf32>
// DATA: spmd.phase @update
// DATA: spmd.all_reduce sum %{{.*}} over ["dp"] : tensor<2xf32>
// DATA: spmd.reduce_bucket @grads.0 sum ["dp"]
// DATA: %[[G:.*]] = spmd.view @grads.0[0] : tensor<112xf32>
// DATA: %[[S:.*]] = spmd.sum_squares %[[G]]
// DATA: spmd.grad_scale %[[S]]
// DATA: spmd.update_bucket @params.0, %[[G]]
// DATA-NOT: spmd.gather_bucket
// DATA: spmd.report

// ZeRO-1 reduces no gradient on all ranks: each gets its share, and gathers the parameters.
// ZERO: spmd.bucket slot @slots.0.0 : 128 x f32 of @params.0 slot 0 flat ["dp"]
// ZERO: spmd.phase @update
// ZERO: spmd.all_reduce sum %{{.*}} over ["dp"] : tensor<2xf32>
// ZERO: spmd.reduce_bucket @grads.0 scatter ["dp"]
// ZERO: %[[W:.*]] = spmd.view @grads.0[0] : tensor<128xf32>
// ZERO: %[[G:.*]] = spmd.local_slice %[[W]] dim 0 over ["dp"] : tensor<128xf32> -> tensor<64xf32>
// ZERO: %[[S:.*]] = spmd.sum_squares %[[G]] : (tensor<64xf32>)
// ZERO: spmd.all_reduce sum %[[S]] over ["dp"] : tensor<f32>
// ZERO-NOT: spmd.all_reduce
// ZERO: spmd.update_bucket @params.0, %[[G]], %{{.*}} slots [@slots.0.0, @slots.0.1] flat ["dp"]
// ZERO: spmd.gather_bucket @params.0 over ["dp"]

// Classes over ranks: the loss in steps, two sums and a maximum of a row each.
// CLASSES: spmd.bucket parameter @params.1 : 32 x f32 sharded ["tp"]
// CLASSES: %[[MAX:.*]], %[[SUM:.*]], %[[TARGET:.*]] = graph.cross_entropy_stats %{{.*}} {class_axes = ["tp"], classes = 9 : i64}
// CLASSES: %[[ALL:.*]] = spmd.all_reduce max %[[MAX]] over ["tp"]
// CLASSES: %[[MERGED:.*]] = graph.cross_entropy_merge %[[MAX]], %[[ALL]], %[[SUM]]
// CLASSES: spmd.all_reduce sum %[[MERGED]] over ["tp"]
// CLASSES: spmd.all_reduce sum %[[TARGET]] over ["tp"]
// CLASSES: graph.cross_entropy_loss %[[ALL]]
// CLASSES: graph.cross_entropy_grad {{.*}}class_axes = ["tp"], classes = 9 : i64
// The hidden layer's parameters are whole on every rank: their squares count once.
// CLASSES: %[[WHOLE:.*]] = spmd.sum_squares
// CLASSES: %[[PART:.*]] = spmd.sum_squares
// CLASSES: %[[PARTS:.*]] = spmd.all_reduce sum %[[PART]] over ["tp"]
// CLASSES: graph.add %[[WHOLE]], %[[PARTS]]

// One rank: nothing is exchanged.
// ONE: spmd.phase @microbatch {
// ONE-NOT: spmd.all
// ONE-NOT: spmd.reduce_scatter
