// The gradient of a recurrent layer: one op back over all steps, one product for the recurrent weights. On ranks that split the
// batch every layer keeps its steps, gates and units whole.
// RUN: dtcc-opt %s --graph-differentiate="optimizer=#graph.sgd<lr=0.1,momentum=0.0,dampening=0.0,weight_decay=0.0,nesterov=false> clip=1.0" --graph-verify-step | FileCheck %s
// RUN: dtcc-opt %s --graph-differentiate="optimizer=#graph.sgd<lr=0.1,momentum=0.0,dampening=0.0,weight_decay=0.0,nesterov=false> clip=1.0" --spmd-apply-plan="parallelism=dp=2,tp=2" --spmd-verify --spmd-lower-to-program | FileCheck %s --check-prefix=LOCAL

graph.state @w : tensor<4x6x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 24, 6>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @v : tensor<3x6x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "v", saved_shape = array<i64: 18, 6>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @bias : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "bias", saved_shape = array<i64: 6>, init = #graph.init<zero>}

// CHECK-LABEL: func.func @step
func.func @loss(%inputs: tensor<4x5x4x6xf32>, %others: tensor<4x5x3x6xf32>, %s: tensor<4x6xf32>, %labels: tensor<4x5xi64>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4x6x6xf32>
  %v = graph.read @v : tensor<3x6x6xf32>
  %bias = graph.read @bias : tensor<6xf32>
  %p = graph.transpose %inputs [1, 0, 2, 3] : (tensor<4x5x4x6xf32>) -> tensor<5x4x4x6xf32>
  %q = graph.transpose %others [1, 0, 2, 3] : (tensor<4x5x3x6xf32>) -> tensor<5x4x3x6xf32>
  // CHECK: %[[H:.*]], %[[C:.*]], %[[G:.*]] = graph.recurrence lstm %{{.*}}, %[[W:.*]], %arg2, %arg2 {origin
  %h, %c, %g = graph.recurrence lstm %p, %w, %s, %s : (tensor<5x4x4x6xf32>, tensor<4x6x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<5x4x6xf32>, tensor<5x4x6xf32>, tensor<5x4x4x6xf32>)
  // CHECK: %[[K:.*]], %[[I:.*]] = graph.recurrence gru_reset_after {{.*}} {origin = {{.*}}reverse} :
  %k, %i = graph.recurrence gru_reset_after %q, %v, %s, %bias {reverse} : (tensor<5x4x3x6xf32>, tensor<3x6x6xf32>, tensor<4x6xf32>, tensor<6xf32>) -> (tensor<5x4x6xf32>, tensor<5x4x4x6xf32>)
  %y = graph.add %h, %k : (tensor<5x4x6xf32>, tensor<5x4x6xf32>) -> tensor<5x4x6xf32>
  %logits = graph.transpose %y [1, 0, 2] : (tensor<5x4x6xf32>) -> tensor<4x5x6xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<4x5x6xf32>, tensor<4x5xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x5xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
// CHECK: graph.cross_entropy_grad
// CHECK: %[[D:.*]] = graph.transpose
// Nothing but parameters waits for these layers.
// CHECK: %{{.*}}, %{{.*}}, %[[PRODUCTS:.*]] = graph.recurrence_grad gru_reset_after %[[D]], %{{.*}}, %[[K]], %arg2, %[[I]] {origin = {{.*}}phase = "W", reverse} :
// States before the steps: of a layer that runs backwards those after, and the start at last.
// CHECK: %[[START:.*]] = graph.reshape %arg2
// CHECK: %[[LATER:.*]] = graph.slice %[[K]] [1, 0, 0]
// CHECK: %[[BEFORE:.*]] = graph.concat %[[LATER]], %[[START]]
// CHECK: %[[DV:.*]] = graph.contract "tbgh,tbk->ghk" %[[PRODUCTS]], %[[BEFORE]]
// CHECK: %[[LAST:.*]] = graph.slice %[[PRODUCTS]] [0, 0, 2, 0]
// CHECK: %[[DBIAS:.*]] = graph.reduce sum %[[LAST]] [0, 1, 2]
// CHECK: %[[DP:.*]], %{{.*}}, %{{.*}} = graph.recurrence_grad lstm %[[D]], %[[W]], %[[H]], %arg2, %[[G]] memory(%[[C]], %arg2)
// CHECK: graph.slice %[[H]] [0, 0, 0]
// CHECK: %[[DW:.*]] = graph.contract "tbgh,tbk->ghk" %[[DP]], %
// CHECK: graph.update %{{.*}}, (%[[DW]], %[[DV]], %[[DBIAS]]) to [@w, @v, @bias]

// LOCAL: graph.recurrence lstm {{.*}} : (tensor<5x2x4x6xf32>, tensor<4x6x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
// LOCAL: graph.recurrence_grad lstm {{.*}} -> (tensor<5x2x4x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
