// Batch statistics of a micro-batch are merged over its ranks; running statistics are stored in every micro-batch.
// RUN: sed s/GROUPS/2/ %S/Inputs/batch-norm.mlir | dtcc-opt --graph-differentiate --spmd-apply-plan="parallelism=dp=2,microbatches=2" --spmd-verify --spmd-lower-to-program | FileCheck %s
// RUN: sed s/GROUPS/4/ %S/Inputs/batch-norm.mlir | sed '/running/,+1!b;s/groups = 4/groups = 2/' | dtcc-opt --graph-differentiate --spmd-apply-plan="parallelism=dp=2,microbatches=2" --spmd-verify --spmd-lower-to-program | FileCheck %s --check-prefix=RANK

// CHECK: spmd.bucket buffer @[[B:buffers.*]] : 32 x f32
// CHECK: spmd.phase @microbatch repeat 2
// Mean, then the squares of the distances with the means' own.
// CHECK: %[[SUM:.*]] = graph.reduce sum %{{.*}} [0, 2] : (tensor<2x3x5xf32>) -> tensor<3xf32>
// CHECK: spmd.all_reduce sum %{{.*}} over ["dp"] : tensor<3xf32>
// CHECK: spmd.all_reduce sum %{{.*}} over ["dp"] : tensor<3xf32>
// Statistics that are the same on all ranks move the running ones without another exchange.
// CHECK-NOT: spmd.all_reduce
// The two sums of the gradient in one exchange.
// CHECK: spmd.all_reduce sum %{{.*}} over ["dp"] : tensor<2x3xf32>
// CHECK-NOT: spmd.all_reduce
// CHECK: spmd.accumulate
// CHECK: spmd.store %{{.*}} into @[[B]][0] : tensor<3xf32>
// CHECK: spmd.store %{{.*}} into @[[B]][16] : tensor<3xf32>
// CHECK: spmd.phase @update

// Ranks that keep to themselves exchange only what moves the running statistics.
// RANK: spmd.phase @microbatch repeat 2
// RANK-COUNT-2: spmd.all_reduce sum %{{.*}} over ["dp"] : tensor<3xf32>
// RANK-NOT: spmd.all_reduce
// RANK: spmd.phase @update
