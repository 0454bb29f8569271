// A layer norm of each channel that moves running statistics, an instance norm, normalises by them in an evaluation. Its
// scale and bias have the dimensions that it normalises.
// RUN: dtcc-opt %s --graph-differentiate --graph-add-evaluation | FileCheck %s

graph.state @w : tensor<3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 3>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @mean : tensor<3xf32> {role = #graph<role buffer>, trainable = false, decay = false, saved_name = "mean", saved_shape = array<i64: 3>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @var : tensor<3xf32> {role = #graph<role buffer>, trainable = false, decay = false, saved_name = "var", saved_shape = array<i64: 3>, init = #graph.init<normal, 0.0, 0.02>}

func.func @loss(%x: tensor<8x3x5xf32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<3xf32>
  %m = graph.read @mean : tensor<3xf32>
  %v = graph.read @var : tensor<3xf32>
  %scale = graph.constant dense<2.0> : tensor<5xf32> : tensor<5xf32>
  %bias = graph.constant dense<0.5> : tensor<5xf32> : tensor<5xf32>
  %ws = graph.broadcast %w [1] : (tensor<3xf32>) -> tensor<8x3x5xf32>
  %h = graph.mul %x, %ws : (tensor<8x3x5xf32>, tensor<8x3x5xf32>) -> tensor<8x3x5xf32>
  %n:3 = graph.layer_norm %h, %scale, %bias [2] {eps = 1.0e-05 : f64} : (tensor<8x3x5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<8x3x5xf32>, tensor<8x3xf32>, tensor<8x3xf32>)
  %moved:2 = graph.running_statistics %m, %v, %n#1, %n#2 {momentum = 0.1 : f64, cells = 5 : i64, unbiased} : (tensor<3xf32>, tensor<3xf32>, tensor<8x3xf32>, tensor<8x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  graph.write @mean, %moved#0 : tensor<3xf32>
  graph.write @var, %moved#1 : tensor<3xf32>
  %q = graph.mul %n#0, %n#0 : (tensor<8x3x5xf32>, tensor<8x3x5xf32>) -> tensor<8x3x5xf32>
  %sum = graph.reduce sum %q [0, 1, 2] : (tensor<8x3x5xf32>) -> tensor<f32>
  %count = graph.constant dense<8.0> : tensor<f32> : tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}

// CHECK: graph.layer_norm {{.*}}phase = "F"
// CHECK: graph.update
// CHECK-NOT: graph.layer_norm
// CHECK-DAG: %[[M:.*]] = graph.read @mean {{.*}}phase = "E"
// CHECK-DAG: %[[V:.*]] = graph.read @var {{.*}}phase = "E"
// CHECK: %[[STEADY:.*]] = graph.add %[[V]], {{.*}}phase = "E"
// CHECK: %[[RSTD:.*]] = graph.rsqrt %[[STEADY]] {{.*}}phase = "E"
// CHECK: %[[SPREAD:.*]] = graph.broadcast %[[M]] [1] {{.*}}origin_factors = array<i64: 0, 1, 2>, phase = "E"
// CHECK: %[[DISTANCE:.*]] = graph.sub %{{.*}}, %[[SPREAD]] {{.*}}phase = "E"
// CHECK: %[[CHANNELS:.*]] = graph.broadcast %[[RSTD]] [1] {{.*}}phase = "E"
// CHECK: %[[SCALE:.*]] = graph.broadcast %{{.*}} [2] {{.*}}phase = "E"
// CHECK: %[[SLOPE:.*]] = graph.mul %[[CHANNELS]], %[[SCALE]] {{.*}}phase = "E"
// CHECK: graph.mul %[[DISTANCE]], %[[SLOPE]] {{.*}}phase = "E"
// CHECK-NOT: graph.layer_norm
