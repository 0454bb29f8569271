// Batch statistics of a micro-batch are merged over its ranks; running statistics are stored in every micro-batch.
// RUN: sed s/GROUPS/2/ %S/Inputs/batch-norm.mlir | dtcc-opt --graph-differentiate --dist-apply-plan="mesh=mb=2,dp=2" --dist-verify --dist-lower-to-program | FileCheck %s
// RUN: sed s/GROUPS/4/ %S/Inputs/batch-norm.mlir | sed '/running/,+1!b;s/groups = 4/groups = 2/' | dtcc-opt --graph-differentiate --dist-apply-plan="mesh=mb=2,dp=2" --dist-verify --dist-lower-to-program | FileCheck %s --check-prefix=RANK

// CHECK: dist.bucket buffer @[[B:buffers.*]] : 32 x f32
// CHECK: dist.phase @microbatch repeat 2
// Mean, then the squares of the distances with the means' own.
// CHECK: %[[SUM:.*]] = graph.reduce sum %{{.*}} [0, 2] : (tensor<2x3x5xf32>) -> tensor<3xf32>
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<3xf32>
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<3xf32>
// Statistics that are the same on all ranks move the running ones without another exchange.
// CHECK-NOT: dist.all_reduce
// The two sums of the gradient in one exchange.
// CHECK: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<2x3xf32>
// CHECK-NOT: dist.all_reduce
// CHECK: dist.accumulate
// CHECK: dist.store %{{.*}} into @[[B]][0] : tensor<3xf32>
// CHECK: dist.store %{{.*}} into @[[B]][16] : tensor<3xf32>
// CHECK: dist.phase @update

// Ranks that keep to themselves exchange only what moves the running statistics.
// RANK: dist.phase @microbatch repeat 2
// RANK-COUNT-2: dist.all_reduce sum %{{.*}} over ["dp"] : tensor<3xf32>
// RANK-NOT: dist.all_reduce
// RANK: dist.phase @update
