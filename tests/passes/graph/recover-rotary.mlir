// RUN: dtcc-opt %s --graph-recover-composites | FileCheck %s

// CHECK-LABEL: func.func @rotate_half
// CHECK-DAG: %[[COS:.*]] = graph.cos %arg1
// CHECK-DAG: %[[SIN:.*]] = graph.sin %arg1
// CHECK: graph.rotary %arg0, %[[COS]], %[[SIN]] [1, 4] {pair = 3 : i64}
// CHECK-NEXT: return
func.func @rotate_half(%x: tensor<2x5x3x2x4xf32>, %angle: tensor<5x4xf32>, %angle2: tensor<5x4xf32>) -> tensor<2x5x3x2x4xf32> {
  %both = graph.stack %angle, %angle {dim = 1 : i64} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x2x4xf32>
  %cos = graph.cos %both : tensor<5x2x4xf32>
  %sin = graph.sin %both : tensor<5x2x4xf32>
  %cb = graph.broadcast %cos [1, 3, 4] : (tensor<5x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %sb = graph.broadcast %sin [1, 3, 4] : (tensor<5x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %h:2 = graph.unstack %x {dim = 3 : i64} : (tensor<2x5x3x2x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>)
  %n = graph.neg %h#1 : tensor<2x5x3x4xf32>
  %turned = graph.stack %n, %h#0 {dim = 3 : i64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> tensor<2x5x3x2x4xf32>
  %a = graph.mul %x, %cb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %b = graph.mul %turned, %sb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %y = graph.add %a, %b : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  return %y : tensor<2x5x3x2x4xf32>
}

// The other way around.
// CHECK-LABEL: func.func @inverse
// CHECK-DAG: %[[COS:.*]] = graph.cos %arg1
// CHECK-DAG: %[[SIN:.*]] = graph.sin %arg1
// CHECK: graph.rotary %arg0, %[[COS]], %[[SIN]] [1, 4] {inverse, pair = 3 : i64}
// CHECK-NEXT: return
func.func @inverse(%x: tensor<2x5x3x2x4xf32>, %angle: tensor<5x4xf32>, %angle2: tensor<5x4xf32>) -> tensor<2x5x3x2x4xf32> {
  %both = graph.stack %angle, %angle {dim = 1 : i64} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x2x4xf32>
  %cos = graph.cos %both : tensor<5x2x4xf32>
  %sin = graph.sin %both : tensor<5x2x4xf32>
  %cb = graph.broadcast %cos [1, 3, 4] : (tensor<5x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %sb = graph.broadcast %sin [1, 3, 4] : (tensor<5x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %h:2 = graph.unstack %x {dim = 3 : i64} : (tensor<2x5x3x2x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>)
  %n = graph.neg %h#0 : tensor<2x5x3x4xf32>
  %turned = graph.stack %h#1, %n {dim = 3 : i64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> tensor<2x5x3x2x4xf32>
  %a = graph.mul %x, %cb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %b = graph.mul %turned, %sb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %y = graph.add %a, %b : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  return %y : tensor<2x5x3x2x4xf32>
}

// A reflection is no rotation; nor are halves turned by different angles.
// CHECK-LABEL: func.func @reflection
// CHECK-NOT: graph.rotary
// CHECK: return
func.func @reflection(%x: tensor<2x5x3x2x4xf32>, %angle: tensor<5x4xf32>, %angle2: tensor<5x4xf32>) -> tensor<2x5x3x2x4xf32> {
  %both = graph.stack %angle, %angle {dim = 1 : i64} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x2x4xf32>
  %cos = graph.cos %both : tensor<5x2x4xf32>
  %sin = graph.sin %both : tensor<5x2x4xf32>
  %cb = graph.broadcast %cos [1, 3, 4] : (tensor<5x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %sb = graph.broadcast %sin [1, 3, 4] : (tensor<5x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %h:2 = graph.unstack %x {dim = 3 : i64} : (tensor<2x5x3x2x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>)
  %turned = graph.stack %h#1, %h#0 {dim = 3 : i64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> tensor<2x5x3x2x4xf32>
  %a = graph.mul %x, %cb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %b = graph.mul %turned, %sb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %y = graph.add %a, %b : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  return %y : tensor<2x5x3x2x4xf32>
}

// CHECK-LABEL: func.func @unequal_halves
// CHECK-NOT: graph.rotary
// CHECK: return
func.func @unequal_halves(%x: tensor<2x5x3x2x4xf32>, %angle: tensor<5x4xf32>, %angle2: tensor<5x4xf32>) -> tensor<2x5x3x2x4xf32> {
  %both = graph.stack %angle, %angle2 {dim = 1 : i64} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x2x4xf32>
  %cos = graph.cos %both : tensor<5x2x4xf32>
  %sin = graph.sin %both : tensor<5x2x4xf32>
  %cb = graph.broadcast %cos [1, 3, 4] : (tensor<5x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %sb = graph.broadcast %sin [1, 3, 4] : (tensor<5x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %h:2 = graph.unstack %x {dim = 3 : i64} : (tensor<2x5x3x2x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>)
  %n = graph.neg %h#1 : tensor<2x5x3x4xf32>
  %turned = graph.stack %n, %h#0 {dim = 3 : i64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> tensor<2x5x3x2x4xf32>
  %a = graph.mul %x, %cb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %b = graph.mul %turned, %sb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %y = graph.add %a, %b : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  return %y : tensor<2x5x3x2x4xf32>
}


// Tables that train keep their gradients: the op has none to them.
graph.state @cosines : tensor<5x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "cosines", saved_shape = array<i64: 5, 4>, init = #graph.init<zero>}
graph.state @sines : tensor<5x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "sines", saved_shape = array<i64: 5, 4>, init = #graph.init<zero>}
// CHECK-LABEL: func.func @trained
// CHECK-NOT: graph.rotary
// CHECK: return
func.func @trained(%x: tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32> {
  %cos = graph.read @cosines : tensor<5x4xf32>
  %sin = graph.read @sines : tensor<5x4xf32>
  %cb = graph.broadcast %cos [1, 4] : (tensor<5x4xf32>) -> tensor<2x5x3x2x4xf32>
  %sb = graph.broadcast %sin [1, 4] : (tensor<5x4xf32>) -> tensor<2x5x3x2x4xf32>
  %h:2 = graph.unstack %x {dim = 3 : i64} : (tensor<2x5x3x2x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>)
  %n = graph.neg %h#1 : tensor<2x5x3x4xf32>
  %turned = graph.stack %n, %h#0 {dim = 3 : i64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> tensor<2x5x3x2x4xf32>
  %a = graph.mul %x, %cb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %b = graph.mul %turned, %sb : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  %y = graph.add %a, %b : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2x4xf32>) -> tensor<2x5x3x2x4xf32>
  return %y : tensor<2x5x3x2x4xf32>
}
