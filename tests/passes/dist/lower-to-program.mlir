// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="mesh=mb=2,dp=2" --dist-lower-to-program | FileCheck %s --check-prefix=DATA
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="mesh=mb=2,dp=2 zero=1" --dist-lower-to-program | FileCheck %s --check-prefix=ZERO
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="plan=%S/Inputs/mlp-classes.json" --dist-lower-to-program | FileCheck %s --check-prefix=CLASSES
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="mesh=mb=1" --dist-lower-to-program | FileCheck %s --check-prefix=ONE

// DATA: graph.state @b1 {{.*}}dist.bucket = @params.0, {{.*}}dist.offset = 32 : i64
// DATA: dist.bucket parameter @params.0 : 112 x f32
// DATA: dist.bucket gradient @grads.0 : 112 x f32 of @params.0
// DATA: dist.bucket slot @slots.0.1 : 112 x f32 of @params.0 slot 1
// DATA: dist.phase @microbatch repeat 2
// DATA: dist.input "x" of !dist.tensor<8x4xf32, @mesh, [{mb,dp},{}]> {role = "data"} : tensor<2x4xf32>
// DATA-NOT: dist.all
// DATA: dist.accumulate %{{.*}} into @scalars[0] : tensor<f32>
// DATA: dist.accumulate %{{.*}} into @scalars[1] : tensor<f32>
// DATA: dist.accumulate %{{.*}} into @grads.0[48] : tensor<6x9xf32>
// DATA: dist.phase @update
// DATA: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<2xf32>
// DATA: dist.reduce_bucket @grads.0 sum ["dp"]
// DATA: %[[G:.*]] = dist.view @grads.0[0] : tensor<112xf32>
// DATA: %[[S:.*]] = dist.sum_squares %[[G]]
// DATA: dist.grad_scale %[[S]]
// DATA: dist.update_bucket @params.0, %[[G]]
// DATA-NOT: dist.gather_bucket
// DATA: dist.report

// ZeRO-1 reduces no gradient on all ranks: each gets its share, and gathers the parameters.
// ZERO: dist.bucket slot @slots.0.0 : 128 x f32 of @params.0 slot 0 flat ["dp"]
// ZERO: dist.phase @update
// ZERO: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<2xf32>
// ZERO: dist.reduce_bucket @grads.0 scatter ["dp"]
// ZERO: %[[W:.*]] = dist.view @grads.0[0] : tensor<128xf32>
// ZERO: %[[G:.*]] = dist.local_slice %[[W]] dim 0 over ["dp"] : tensor<128xf32> -> tensor<64xf32>
// ZERO: %[[S:.*]] = dist.sum_squares %[[G]] : (tensor<64xf32>)
// ZERO: dist.all_reduce sum %[[S]] over ["dp"] : tensor<f32>
// ZERO-NOT: dist.all_reduce
// ZERO: dist.update_bucket @params.0, %[[G]], %{{.*}} slots [@slots.0.0, @slots.0.1] flat ["dp"]
// ZERO: dist.gather_bucket @params.0 over ["dp"]

// Classes over ranks: the loss in steps, two sums and a maximum of a row each.
// CLASSES: dist.bucket parameter @params.1 : 32 x f32 sharded ["tp"]
// CLASSES: %[[MAX:.*]], %[[SUM:.*]], %[[TARGET:.*]] = graph.cross_entropy_stats %{{.*}} {class_axes = ["tp"], classes = 9 : i64}
// CLASSES: %[[ALL:.*]] = dist.all_reduce max %[[MAX]] over ["tp"]
// CLASSES: %[[MERGED:.*]] = graph.cross_entropy_merge %[[MAX]], %[[ALL]], %[[SUM]]
// CLASSES: dist.all_reduce sum %[[MERGED]] over ["tp"]
// CLASSES: dist.all_reduce sum %[[TARGET]] over ["tp"]
// CLASSES: graph.cross_entropy_loss %[[ALL]]
// CLASSES: graph.cross_entropy_grad {{.*}}class_axes = ["tp"], classes = 9 : i64
// The hidden layer's parameters are whole on every rank: their squares count once.
// CLASSES: %[[WHOLE:.*]] = dist.sum_squares
// CLASSES: %[[PART:.*]] = dist.sum_squares
// CLASSES: %[[PARTS:.*]] = dist.all_reduce sum %[[PART]] over ["tp"]
// CLASSES: graph.add %[[WHOLE]], %[[PARTS]]

// One rank: nothing is exchanged.
// ONE: dist.phase @microbatch {
// ONE-NOT: dist.all
// ONE-NOT: dist.reduce_scatter
