// Gradients in bf16: buckets and reductions have that type, and what is accumulated is rounded as it is stored. Norm and
// update read the buckets as they are.
// DEFINE: %{parallelism} = parallelism=dp=2,zero=1,gradients=bf16
// DEFINE: %{opt} = dtcc-opt %S/compute-types.mlir --spmd-apply-plan="%{parallelism}" --spmd-assign-compute-types --spmd-form-units --spmd-lower-to-program --spmd-place-units
// RUN: %{opt} | FileCheck %s --check-prefix=ONE
// RUN: %{opt} --exec-expand-composites --exec-fuse --exec-bufferize | FileCheck %s --check-prefix=EXEC
// REDEFINE: %{parallelism} = parallelism=dp=2,zero=3,microbatches=2,gradients=bf16
// RUN: %{opt} | FileCheck %s --check-prefix=THREE
// RUN: %{opt} --exec-expand-composites --exec-fuse --exec-bufferize | FileCheck %s --check-prefix=SUMS

// ONE: graph.state @w {{.*}}spmd.gradient = bf16
// ONE-NOT: graph.state @frozen {{.*}}spmd.gradient
// ONE: spmd.bucket parameter @params.[[#M:]] : 32 x f32 flat ["dp"]
// ONE: spmd.bucket gradient @grads.[[#M]] : 32 x bf16 of @params.[[#M]]{{$}}
// ONE: spmd.accumulate {{.*}} into @grads.[[#M]][0] : tensor<4x4xf32>
// ONE: spmd.reduce_bucket @grads.[[#M]] scatter ["dp"]
// ONE: spmd.view @grads.[[#M]][0] : tensor<32xbf16>
// ONE: spmd.sum_squares {{.*}} : (tensor<16xbf16>, {{.*}}) -> tensor<f32>
// ONE: spmd.update_bucket @params.[[#M]], {{.*}} : tensor<16xbf16>, tensor<f32>

// Products and generated kernels write bf16 into the bucket: no f32 copy of a gradient is made.
// EXEC: exec.kernel @fused_{{.*}} outs(%{{.*}}, %{{.*}} : memref<4x4xbf16>, memref<4xbf16>)
// EXEC-NOT: exec.library "matmul" {{.*}}f32
// EXEC: exec.collective reduce_scatter sum {{.*}} ins(%{{.*}} : memref<32xbf16>) outs(%{{.*}} : memref<16xbf16>)
// EXEC-NOT: exec.library "matmul" {{.*}}f32
// EXEC: exec.collective reduce_scatter sum {{.*}} ins(%{{.*}} : memref<32xbf16>) outs(%{{.*}} : memref<16xbf16>)
// EXEC: exec.library "sum_squares" ins(%{{.*}} : memref<16xbf16>)
// EXEC: exec.library "sgd" ins({{.*}} : memref<16xbf16>,

// THREE: spmd.bucket parameter @params.[[#M:]] : 32 x f32 flat
// THREE: spmd.bucket gradient @grads.[[#M]] : 32 x bf16 of @params.[[#M]] flat ["dp"]
// THREE: spmd.bucket transient @work.[[#M]] : 32 x bf16 of @params.[[#M]]
// THREE: spmd.reduce_bucket @work.[[#M]] scatter ["dp"] into @grads.[[#M]]

// Sums over micro-batches add in f32 registers, to what memory holds in bf16.
// SUMS: exec.func @accumulate_{{[0-9]+}} buffers [memref<16xbf16>, memref<16xbf16>] accumulate [2]
