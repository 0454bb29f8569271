// Integers are reduced pairwise, exactly, in as many steps as the length has bits; an odd cell waits.
// RUN: dtcc-opt --exec-expand-composites %s | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK: %[[LAST:.*]] = graph.slice %arg0 [0, 4] [1, 1] {{.*}} -> tensor<3x1xi64>
// CHECK: %[[LOW:.*]] = graph.slice %arg0 [0, 0] [1, 1] {{.*}} -> tensor<3x2xi64>
// CHECK: %[[HIGH:.*]] = graph.slice %arg0 [0, 2] [1, 1] {{.*}} -> tensor<3x2xi64>
// CHECK: %[[TWO:.*]] = graph.add %[[LOW]], %[[HIGH]]
// CHECK: %[[FIRST:.*]] = graph.slice %[[TWO]] [0, 0] [1, 1]
// CHECK: %[[SECOND:.*]] = graph.slice %[[TWO]] [0, 1] [1, 1]
// CHECK: %[[ONE:.*]] = graph.add %[[FIRST]], %[[SECOND]]
// CHECK: %[[SUM:.*]] = graph.add %[[ONE]], %[[LAST]]
// CHECK: graph.reshape %[[SUM]] : (tensor<3x1xi64>) -> tensor<3xi64>
// CHECK-NOT: graph.reduce
func.func @sum(%x: tensor<3x5xi64>) -> tensor<3xi64> {
  %y = graph.reduce sum %x [1] : (tensor<3x5xi64>) -> tensor<3xi64>
  return %y : tensor<3xi64>
}

// CHECK-LABEL: func.func @any
// CHECK: graph.max {{.*}} -> tensor<2xi1>
// CHECK: graph.max {{.*}} -> tensor<1xi1>
func.func @any(%x: tensor<4xi1>) -> tensor<i1> {
  %y = graph.reduce max %x [0] : (tensor<4xi1>) -> tensor<i1>
  return %y : tensor<i1>
}

// Sums of 2, then of 4 neighbours, then of all.
// CHECK-LABEL: func.func @running
// CHECK: graph.add {{.*}} -> tensor<5xi32>
// CHECK: graph.concat {{.*}} : (tensor<1xi32>, tensor<5xi32>) -> tensor<6xi32>
// CHECK: graph.concat {{.*}} : (tensor<2xi32>, tensor<4xi32>) -> tensor<6xi32>
// CHECK: graph.concat {{.*}} : (tensor<4xi32>, tensor<2xi32>) -> tensor<6xi32>
// CHECK-NOT: graph.concat
func.func @running(%x: tensor<6xi32>) -> tensor<6xi32> {
  %y = graph.cumsum %x {dim = 0 : i64} : tensor<6xi32>
  return %y : tensor<6xi32>
}

// Integers that are gathered have 4 bytes at least and are rows of a table.
// CHECK-LABEL: func.func @flags
// CHECK: %[[WIDE:.*]] = graph.cast %arg0 : (tensor<3x4xi1>) -> tensor<3x4xi32>
// CHECK: %[[TABLE:.*]] = graph.transpose %[[WIDE]] [1, 0]
// CHECK: %[[ROWS:.*]] = graph.gather %[[TABLE]], %arg1 {axis = 0 : i64}
// CHECK: %[[BACK:.*]] = graph.transpose %[[ROWS]] [1, 0]
// CHECK: graph.cast %[[BACK]] : (tensor<3x2xi32>) -> tensor<3x2xi1>
func.func @flags(%x: tensor<3x4xi1>, %i: tensor<2xi64>) -> tensor<3x2xi1> {
  %y = graph.gather %x, %i {axis = 1 : i64} : (tensor<3x4xi1>, tensor<2xi64>) -> tensor<3x2xi1>
  return %y : tensor<3x2xi1>
}
