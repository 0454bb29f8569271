// 4 positions over 3 ranks: padded to 6 on the far side of a reorder; padded labels are ignored, padded keys not seen.
// RUN: dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="parallelism=cp=3" --spmd-verify | FileCheck %s
// RUN: dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-apply-plan="parallelism=cp=3" --spmd-lower-to-program | FileCheck %s --check-prefix=PROGRAM

// CHECK: graph.reorder %{{.*}} dim 1 chunks 0 {phase = "F"} : (!spmd.tensor<8x4xi64, @mesh, [{},{}]>) -> !spmd.tensor<8x4xi64, @mesh, [{},{cp}], pad [8,6]>
// CHECK: %[[SHIFTED:.*]] = graph.shift
// CHECK: %[[COUNTED:.*]] = graph.reorder %[[SHIFTED]] dim 1 chunks 0 {fill = -100 : i64
// CHECK: graph.cross_entropy %{{.*}}, %[[COUNTED]] {ignore_index = -100 : i64, ignores_padding

// PROGRAM: graph.reorder %{{.*}} dim 1 chunks 0 {{.*}} : (tensor<8x4xi64>) -> tensor<8x2xi64>
// PROGRAM: graph.attention_part {{.*}} {length = 4 : i64, query_length = 4 : i64, row_axes = ["cp"], {{.*}} (tensor<8x2x3x2xf32>, tensor<8x6x3x2xf32>, tensor<8x6x3x2xf32>)
