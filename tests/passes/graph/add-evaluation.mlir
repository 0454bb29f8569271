// The loss again without dropout, with running statistics, from states and arguments alone. Batch norms without running
// statistics keep those of the batch.
// RUN: dtcc-opt %s --graph-differentiate --graph-add-evaluation | FileCheck %s
// The ops of evaluation stay apart from those that they repeat.
// RUN: dtcc-opt %s --graph-differentiate --graph-add-evaluation --cse | FileCheck %s

graph.state @w : tensor<4x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4, 3>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @scale : tensor<3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "scale", saved_shape = array<i64: 3>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @bias : tensor<3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "bias", saved_shape = array<i64: 3>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @mean : tensor<3xf32> {role = #graph<role buffer>, trainable = false, decay = false, saved_name = "mean", saved_shape = array<i64: 3>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @var : tensor<3xf32> {role = #graph<role buffer>, trainable = false, decay = false, saved_name = "var", saved_shape = array<i64: 3>, init = #graph.init<normal, 0.0, 0.02>}

func.func @loss(%x: tensor<8x4xf32>, %labels: tensor<8xi64>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4x3xf32>
  %scale = graph.read @scale : tensor<3xf32>
  %bias = graph.read @bias : tensor<3xf32>
  %m = graph.read @mean : tensor<3xf32>
  %v = graph.read @var : tensor<3xf32>
  %h = graph.contract "bk,kn->bn" %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %n:3 = graph.batch_norm %h, %scale, %bias [0] {eps = 1.0e-05 : f64} : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>)
  %moved:2 = graph.running_statistics %m, %v, %n#1, %n#2 {momentum = 0.1 : f64, cells = 8 : i64, unbiased} : (tensor<3xf32>, tensor<3xf32>, tensor<8x3xf32>, tensor<8x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  graph.write @mean, %moved#0 : tensor<3xf32>
  graph.write @var, %moved#1 : tensor<3xf32>
  %d = graph.dropout %n#0 {ratio = 0.5 : f64, id = 0 : i64} : tensor<8x3xf32>
  %own:3 = graph.batch_norm %d, %scale, %bias [0] {eps = 1.0e-05 : f64} : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>, tensor<8x3xf32>)
  %sum, %count, %lse = graph.cross_entropy %own#0, %labels : (tensor<8x3xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @step
// CHECK-SAME: -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
// CHECK: %[[SUM:.*]], %[[COUNT:.*]], %{{.*}} = graph.cross_entropy {{.*}}phase = "F"
// CHECK: %[[NORM:.*]] = graph.update
// CHECK-NOT: phase = "F"
// CHECK-NOT: graph.dropout
// CHECK-DAG: %[[W:.*]] = graph.read @w {{.*}}phase = "E"
// CHECK-DAG: %[[M:.*]] = graph.read @mean {{.*}}phase = "E"
// CHECK-DAG: %[[H:.*]] = graph.contract "bk,kn->bn" %arg0, %[[W]] {origin = 5 : i64, origin_factors = array<i64: 0, 1, 2>, phase = "E"}
// CHECK: graph.rsqrt {{.*}}origin_factors = array<i64: 1>, phase = "E"
// CHECK: %[[SPREAD:.*]] = graph.broadcast %[[M]] {{.*}}phase = "E"
// CHECK: graph.sub %[[H]], %[[SPREAD]] {{.*}}origin_factors = array<i64: 0, 1>, phase = "E"
// CHECK: graph.batch_norm {{.*}}phase = "E"
// CHECK: %[[EVALUATED:.*]], %[[LABELS:.*]], %{{.*}} = graph.cross_entropy {{.*}}phase = "E"
// How many labels name the class of the largest logit.
// CHECK: %[[LARGEST:.*]], %{{.*}}, %[[TARGET:.*]] = graph.cross_entropy_stats %{{.*}} {classes = 3 : i64, origin = {{[0-9]+}} : i64, origin_factors = array<i64: 0, 1>, phase = "E"}
// CHECK: %[[HIT:.*]] = graph.compare eq %[[TARGET]], %[[LARGEST]] {{.*}}origin_factors = array<i64: 0>, phase = "E"
// CHECK: %[[ONES:.*]] = graph.select %[[HIT]]
// CHECK: %[[HITS:.*]] = graph.reduce sum %[[ONES]] [0]
// CHECK: return %[[SUM]], %[[COUNT]], %[[NORM]], %[[EVALUATED]], %[[LABELS]], %[[HITS]]
