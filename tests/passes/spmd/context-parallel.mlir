// Positions over cp: inputs and activations lie split, queries of attention too; keys and values are gathered.
// RUN: dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="parallelism=cp=2,microbatches=2" --spmd-verify | FileCheck %s
// RUN: dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="parallelism=cp=2,microbatches=2" --spmd-lower-to-program --spmd-print-collectives -o %t | FileCheck %s --check-prefix=COLLECTIVES
// RUN: FileCheck %s --check-prefix=PROGRAM < %t

// Labels are shifted, which wants them whole: every rank loads them so.
// CHECK: spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 1, rank>, #spmd.axis<"cp", 2, rank>, #spmd.axis<"tp", 1, rank>]
// CHECK: graph.state @wpe {{.*}}!spmd.tensor<4x6xf32, @mesh, [{},{}]>
// CHECK: func.func @step(%{{.*}}: !spmd.tensor<8x4xi64, @mesh, [{mb},{cp}]>
// CHECK: graph.iota {{.*}} : !spmd.tensor<4xi64, @mesh, [{cp}]>
// CHECK: graph.attention {{.*}} (!spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{cp},{},{}]>, !spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{},{},{}]>,
// CHECK: graph.attention_grad {{.*}} -> (!spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{cp},{},{}]>, !spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{},{},{}], partial(sum {cp})>,

// Keys and values of 4x2x3x2 elements, in 2 micro-batches, and the sums of their gradients; gradients once a step.
// COLLECTIVES: microbatch all_gather over cp (2 ranks): 4 x, 1536 bytes
// COLLECTIVES-NEXT: microbatch reduce_scatter over cp (2 ranks): 4 x, 1536 bytes
// COLLECTIVES-NEXT: update all_reduce over cp (2 ranks): 2 x, 2184 bytes
// COLLECTIVES-NOT: {{.}}

// PROGRAM: graph.attention {{.*}}row_axes = ["cp"]
// PROGRAM: graph.attention_grad {{.*}}row_axes = ["cp"]
