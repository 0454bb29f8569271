// RUN: dtcc-opt %s --graph-differentiate="optimizer=#graph.sgd<lr=0.1,momentum=0.0,dampening=0.0,weight_decay=0.0,nesterov=false>" --graph-verify-step | FileCheck %s

// The gradient of relu reads its result, which the product behind it keeps anyway: what was before it need not be kept.

graph.state @w : tensor<4x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @head : tensor<4x7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 4, 7>, init = #graph.init<normal, 0.0, 0.02>}

// CHECK-LABEL: func.func @step
func.func @loss(%x: tensor<8x4xf32> {graph.name = "x"}, %labels: tensor<8xi64>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4x4xf32>
  %head = graph.read @head : tensor<4x7xf32>
  %z = graph.contract "bc,cd->bd" %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK: %[[Y:.*]] = graph.relu
  %y = graph.relu %z : tensor<8x4xf32>
  // CHECK: graph.contract "bd,dv->bv" %[[Y]]
  %logits = graph.contract "bd,dv->bv" %y, %head : (tensor<8x4xf32>, tensor<4x7xf32>) -> tensor<8x7xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<8x7xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
// CHECK: graph.relu_grad %[[Y]], %{{.*}}
