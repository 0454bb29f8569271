// What only the update touches lies with the host: slots, and masters beside the copies that readers see, under every stage.
// DEFINE: %{parallelism} = parallelism=dp=2
// DEFINE: %{opt} = sed -e 's/momentum = 0.0/momentum = 0.9/' %S/compute-types.mlir | dtcc-opt --spmd-apply-plan="%{parallelism}" --spmd-assign-compute-types --spmd-form-units --spmd-lower-to-program --spmd-place-units
// REDEFINE: %{parallelism} = parallelism=dp=2,zero=1,offload=optimizer
// RUN: %{opt} | FileCheck %s --check-prefix=ONE
// REDEFINE: %{parallelism} = parallelism=dp=2,zero=3,offload=optimizer
// RUN: %{opt} | FileCheck %s --check-prefix=THREE
// RUN: %{opt} --exec-expand-composites --exec-fuse --exec-bufferize=uses-host --exec-plan-arena --exec-verify | FileCheck %s --check-prefix=EXEC
// A processor has no memory but its host's.
// RUN: %{opt} --exec-expand-composites --exec-fuse --exec-bufferize --exec-plan-arena --exec-verify | FileCheck %s --check-prefix=CPU

// ONE-DAG: graph.state @w {{.*}}spmd.offload
// ONE-NOT: graph.state @frozen {{.*}}spmd.offload
// ONE: spmd.bucket parameter @params.[[#M:]] : 32 x f32 flat ["dp"] host
// ONE: spmd.bucket compute @compute.[[#M]] : 32 x bf16 of @params.[[#M]]{{$}}
// ONE: spmd.bucket gradient @grads.[[#M]] : 32 x f32 of @params.[[#M]]{{$}}
// ONE: spmd.bucket slot @slots.[[#M]].0 : 32 x f32 of @params.[[#M]] slot 0 flat ["dp"] host
// The scale is read in f32: it stays, its slots go.
// ONE: spmd.bucket parameter @params.[[#S:]] : {{[0-9]+}} x f32{{$}}
// ONE: spmd.bucket slot @slots.[[#S]].0 : {{.*}} slot 0 flat ["dp"] host
// ONE: spmd.gather_bucket @compute.[[#M]] over ["dp"]

// ZeRO-3 gathers copies, which it keeps as shares: masters would be read over the link in every micro-batch.
// THREE: spmd.bucket parameter @params.[[#M:]] : 32 x f32 flat ["dp"] host
// THREE: spmd.bucket compute @compute.[[#M]] : 32 x bf16 of @params.[[#M]] flat ["dp"]
// THREE: spmd.gather_unit @compute.[[#M]] over ["dp"] : tensor<32xbf16>
// THREE-NOT: spmd.gather_unit @params.[[#M]]
// THREE: spmd.update_bucket @params.[[#M]], {{.*}} flat ["dp"] copy @compute.[[#M]]
// THREE-NOT: spmd.gather_bucket @compute

// EXEC-DAG: exec.arena @host : {{[1-9][0-9]*}} host
// EXEC-DAG: exec.buffer @params.[[#M:]] : 64 in @host
// EXEC-DAG: exec.buffer @compute.[[#M]] : 32 in @state
// EXEC: exec.library "sgd" ins({{.*}}) outs(%{{.*}} : memref<16xf32>, memref<16xf32>, memref<16xbf16>)

// CPU-NOT: @host
// CPU: exec.buffer @params.{{.*}} in @state
