// An evaluation of a model of tokens also returns the sum of the rows of logits whose labels count.
// RUN: split-file %s %t
// RUN: dtcc-opt %t/tokens.mlir --graph-differentiate --graph-add-evaluation | FileCheck %s
// A loss that counts every label has no such rows; logits that depend on labels, as a decoder's that reads them, predict
// nothing.
// RUN: dtcc-opt %t/all.mlir --graph-differentiate --graph-add-evaluation | FileCheck %s --check-prefix=NONE
// RUN: dtcc-opt %t/labels.mlir --graph-differentiate --graph-add-evaluation | FileCheck %s --check-prefix=NONE

// CHECK: func.func @step{{.*}} -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<11xf32>)
// CHECK: %[[LOGITS:.*]] = graph.embedding {{.*}}phase = "E"
// CHECK: graph.cross_entropy %[[LOGITS]], %[[LABELS:[a-z0-9]+]] {{.*}}phase = "E"
// CHECK: %[[IGNORED:.*]] = graph.constant {{.*}}phase = "E"} dense<-100>
// CHECK: %[[COUNTS:.*]] = graph.compare ne %[[LABELS]], %[[IGNORED]]
// CHECK: %[[COUNTED:.*]] = graph.broadcast %[[COUNTS]]
// CHECK: %[[ROWS:.*]] = graph.select %[[COUNTED]], %[[LOGITS]], %{{.*}}origin_factors = array<i64: 0, 1, 2>, phase = "E"
// CHECK: %[[ROW:.*]] = graph.reduce sum %[[ROWS]] [0, 1]
// CHECK: return {{.*}}%[[ROW]]
// A class for a whole sample of tokens is no next token: the labels that the largest logits name are counted.
// RUN: dtcc-opt %t/classes.mlir --graph-differentiate --graph-add-evaluation | FileCheck %s --check-prefix=CLASSES
// CLASSES: func.func @step{{.*}} -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
// NONE: func.func @step{{.*}} -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)

//--- tokens.mlir
graph.state @w : tensor<11x11xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 11, 11>, init = #graph.init<normal, 0.0, 0.02>}
func.func @loss(%ids: tensor<4x6xi64> {graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x6xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<11x11xf32>
  %logits = graph.embedding %w, %ids : (tensor<11x11xf32>, tensor<4x6xi64>) -> tensor<4x6x11xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<4x6x11xf32>, tensor<4x6xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
//--- classes.mlir
graph.state @w : tensor<11x11xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 11, 11>, init = #graph.init<normal, 0.0, 0.02>}
func.func @loss(%ids: tensor<4x6xi64> {graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<11x11xf32>
  %rows = graph.embedding %w, %ids : (tensor<11x11xf32>, tensor<4x6xi64>) -> tensor<4x6x11xf32>
  %logits = graph.reduce sum %rows [1] : (tensor<4x6x11xf32>) -> tensor<4x11xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<4x11xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
//--- all.mlir
graph.state @w : tensor<11x11xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 11, 11>, init = #graph.init<normal, 0.0, 0.02>}
func.func @loss(%ids: tensor<4x6xi64> {graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x6xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<11x11xf32>
  %logits = graph.embedding %w, %ids : (tensor<11x11xf32>, tensor<4x6xi64>) -> tensor<4x6x11xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<4x6x11xf32>, tensor<4x6xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
//--- labels.mlir
graph.state @w : tensor<11x11xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 11, 11>, init = #graph.init<normal, 0.0, 0.02>}
func.func @loss(%ids: tensor<4x6xi64> {graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x6xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<11x11xf32>
  %both = graph.add %ids, %labels : (tensor<4x6xi64>, tensor<4x6xi64>) -> tensor<4x6xi64>
  %logits = graph.embedding %w, %both : (tensor<11x11xf32>, tensor<4x6xi64>) -> tensor<4x6x11xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<4x6x11xf32>, tensor<4x6xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
