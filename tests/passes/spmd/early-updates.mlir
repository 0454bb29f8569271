// Early updates read their own gradients and a scale that is known behind the forward pass. They come in the order in which
// the backward pass completes their gradients; only the report waits for the norm.
// DEFINE: %{parallelism} = parallelism=dp=2,zero=1
// DEFINE: %{opt} = sed 's/clip = 1.0 : f64/early/' %S/Inputs/mlp.mlir | dtcc-opt - --spmd-apply-plan="%{parallelism}" --spmd-form-units="latency-bytes=16" --spmd-lower-to-program --spmd-place-units --spmd-verify-program
// RUN: %{opt} | FileCheck %s
// RUN: %{opt} --exec-expand-composites --exec-fuse --exec-bufferize --exec-advance-updates --exec-plan-arena --exec-verify | FileCheck %s --check-prefix=EXEC
// REDEFINE: %{parallelism} = parallelism=dp=1
// RUN: %{opt} --exec-expand-composites --exec-fuse --exec-bufferize --exec-advance-updates --exec-plan-arena --exec-verify | FileCheck %s --check-prefix=ONE
// RUN: sed 's/clip = 1.0 : f64/early/' %S/Inputs/mlp.mlir | dtcc-opt - --spmd-apply-plan="parallelism=dp=2,microbatches=2" --spmd-form-units="latency-bytes=16" --spmd-lower-to-program 2>&1 | FileCheck %s --check-prefix=SUMS

// CHECK: spmd.program @step mesh @mesh attributes {graph.early}
// CHECK: spmd.phase @update
// CHECK: %[[SCALE:.*]] = spmd.mean_scale
// The gradient of w2 is complete first.
// CHECK: %[[W2:.*]] = spmd.local_slice
// CHECK: spmd.update_bucket @params.[[#LAST:]], %[[W2]], %[[SCALE]]
// CHECK-NEXT: spmd.gather_bucket @params.[[#LAST]]
// CHECK: %[[B1:.*]] = spmd.local_slice
// CHECK: spmd.update_bucket @params.{{.*}}, %[[B1]], %[[SCALE]]
// CHECK: %[[W1:.*]] = spmd.local_slice
// CHECK: spmd.update_bucket @params.0, %[[W1]], %[[SCALE]]
// CHECK: %[[SQUARES:.*]] = spmd.sum_squares %[[W2]], %[[B1]], %[[W1]]
// CHECK: %[[NORM:.*]], %{{.*}} = spmd.grad_scale
// CHECK: spmd.report {{.*}} grad_norm %[[NORM]]

// Gradients lie among activations. The gaps of a bucket are zeros before it is summed.
// EXEC-DAG: exec.buffer @params.{{.*}} in @state
// EXEC-DAG: exec.buffer @grads.2 : 256 in @activations at
// EXEC: exec.phase @microbatch
// EXEC: exec.fill 0.000000e+00 : f32
// EXEC: exec.collective reduce_scatter
// EXEC: exec.library "adamw" {{.*}}of_update
// EXEC: exec.library "grad_scale" {{.*}}of_update
// EXEC: exec.phase @update
// EXEC-NOT: exec.library

// They are too where no rank sums.
// ONE: exec.phase @microbatch
// ONE: exec.fill 0.000000e+00 : f32
// ONE: exec.library "sum_squares"

// With micro-batches updates are late.
// SUMS: remark: --update=early changes nothing: one micro-batch
// SUMS-NOT: graph.early
// SUMS: spmd.grad_scale
// SUMS: spmd.update_bucket
