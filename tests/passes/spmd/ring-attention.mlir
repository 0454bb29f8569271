// Keys and values go around the ranks: each holds its own, those it works on and the next.
// RUN: dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%S/Inputs/ring.json" --spmd-verify | FileCheck %s
// RUN: dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%S/Inputs/ring.json" --spmd-lower-to-program --spmd-print-collectives -o %t | FileCheck %s --check-prefix=COLLECTIVES
// RUN: FileCheck %s --check-prefix=PROGRAM < %t

// CHECK: graph.attention {{.*}} (!spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{cp},{},{}]>, !spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{cp},{},{}]>, !spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{cp},{},{}]>)
// CHECK: graph.attention_grad {{.*}} -> (!spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{cp},{},{}]>, !spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{cp},{},{}]>, !spmd.tensor<8x4x3x2xf32, @mesh, [{mb},{cp},{},{}]>)

// A micro-batch: keys and values 3 times in either pass, their gradients 4 times. A block has 4x1x3x2 elements.
// COLLECTIVES: microbatch shift over cp (4 ranks): 40 x, 3840 bytes
// COLLECTIVES-NEXT: update all_reduce over cp (4 ranks): 2 x, 2184 bytes
// COLLECTIVES-NOT: {{.}}

// The next block is sent for before this one is worked on.
// PROGRAM: %[[K1:.*]] = spmd.shift %[[K0:.*]] over ["cp"] : tensor<4x1x3x2xf32>
// PROGRAM-NEXT: %[[V1:.*]] = spmd.shift %[[V0:.*]] over ["cp"] : tensor<4x1x3x2xf32>
// PROGRAM-NEXT: %[[O0:.*]], %[[L0:.*]] = graph.attention_part %[[Q:.*]], %[[K0]], %[[V0]] <causal = true> {key_axes = ["cp"], length = 4 : i64, query_length = 4 : i64, row_axes = ["cp"],
// PROGRAM-NEXT: %[[K2:.*]] = spmd.shift %[[K1]] over ["cp"]
// PROGRAM-NEXT: %[[V2:.*]] = spmd.shift %[[V1]] over ["cp"]
// PROGRAM-NEXT: %[[O1:.*]], %[[L1:.*]] = graph.attention_part %[[Q]], %[[K1]], %[[V1]] onto(%[[O0]], %[[L0]]) <causal = true> {{.*}}shift = 1 : i64}
// PROGRAM: %[[O3:.*]], %[[L3:.*]] = graph.attention_part {{.*}}shift = 3 : i64}
// PROGRAM-NOT: spmd.shift
// In the backward pass sums of gradients go with their keys, and home at the end.
// PROGRAM: %[[B1:.*]] = spmd.shift %[[K0]] over ["cp"]
// PROGRAM: graph.attention_part_grad %[[Q]], %[[K0]], %[[V0]] out %[[O3]], %[[L3]], %{{.*}} <causal = true>
// PROGRAM: graph.attention_part_grad %[[Q]], %[[B1]], %{{.*}} out %[[O3]], %[[L3]], %{{.*}} onto(%{{.*}}, %{{.*}}, %{{.*}})
// PROGRAM: %{{.*}}, %[[DK:.*]], %[[DV:.*]] = graph.attention_part_grad {{.*}}shift = 3 : i64}
// PROGRAM-NEXT: spmd.shift %[[DK]] over ["cp"]
// PROGRAM-NEXT: spmd.shift %[[DV]] over ["cp"]
