// Each of 2 ranks holds an early and a late of 4 chunks. Inputs, shifted labels and numbers of positions stay in the order
// of the sequence, whole; reorders stand where they meet the rest.
// RUN: dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%S/Inputs/zigzag.json" --spmd-verify | FileCheck %s
// RUN: dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="plan=%S/Inputs/zigzag.json" --spmd-lower-to-program | FileCheck %s --check-prefix=PROGRAM

// CHECK: func.func @step(%[[IDS:.*]]: !spmd.tensor<8x4xi64, @mesh, [{},{}]> {{.*}}, %[[LABELS:.*]]: !spmd.tensor<8x4xi64, @mesh, [{},{}]>
// CHECK: %[[ORDERED:.*]] = graph.reorder %[[IDS]] dim 1 chunks 4 {phase = "F"} : (!spmd.tensor<8x4xi64, @mesh, [{},{}]>) -> !spmd.tensor<8x4xi64, @mesh, [{},{cp}]>
// CHECK: graph.embedding %{{.*}}, %[[ORDERED]]
// CHECK: %[[IOTA:.*]] = graph.iota {{.*}} : !spmd.tensor<4xi64, @mesh, [{}]>
// CHECK: graph.reorder %[[IOTA]] dim 0 chunks 4 {{.*}} -> !spmd.tensor<4xi64, @mesh, [{cp}]>
// CHECK: graph.attention {{.*}}chunks = 4 : i64
// CHECK: %[[SHIFTED:.*]] = graph.shift %[[LABELS]]
// CHECK: %[[COUNTED:.*]] = graph.reorder %[[SHIFTED]] dim 1 chunks 4
// CHECK: graph.cross_entropy %{{.*}}, %[[COUNTED]]
// CHECK: graph.cross_entropy_grad %{{.*}}, %[[COUNTED]]
// CHECK: graph.attention_grad {{.*}}chunks = 4 : i64

// PROGRAM: graph.reorder %{{.*}} dim 1 chunks 4 {{.*}}offset_axes = ["cp"]{{.*}} : (tensor<8x4xi64>) -> tensor<8x2xi64>
// Gathered keys, in one part.
// PROGRAM: graph.attention_part %{{.*}}, %{{.*}}, %{{.*}} <causal = true> {chunks = 4 : i64, length = 4 : i64, query_length = 4 : i64, row_axes = ["cp"], scale
// PROGRAM: graph.attention_part_grad {{.*}}{chunks = 4 : i64, length = 4 : i64, query_length = 4 : i64, row_axes = ["cp"], scale
