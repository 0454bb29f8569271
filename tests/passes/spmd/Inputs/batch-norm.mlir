// A batch norm in training form with its running statistics, differentiated; GROUPS is filled in by the tests.
graph.state @scale : tensor<3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "scale",
    saved_shape = array<i64: 3>, value = dense<1.0> : tensor<3xf32>}
graph.state @slope : tensor<3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "slope",
    saved_shape = array<i64: 3>, value = dense<1.0> : tensor<3xf32>}
graph.state @mean : tensor<3xf32> {role = #graph<role buffer>, trainable = false, decay = false, saved_name = "mean",
    saved_shape = array<i64: 3>, value = dense<0.0> : tensor<3xf32>}
graph.state @variance : tensor<3xf32> {role = #graph<role buffer>, trainable = false, decay = false,
    saved_name = "variance", saved_shape = array<i64: 3>, value = dense<1.0> : tensor<3xf32>}
func.func @loss(%x: tensor<8x3x5xf32>, %labels: tensor<8x5xi64>) -> (tensor<f32>, tensor<f32>) {
  %s = graph.read @scale : tensor<3xf32>
  %m = graph.read @mean : tensor<3xf32>
  %v = graph.read @variance : tensor<3xf32>
  %slope = graph.read @slope : tensor<3xf32>
  %wide = graph.broadcast %slope [1] : (tensor<3xf32>) -> tensor<8x3x5xf32>
  %z = graph.mul %x, %wide : (tensor<8x3x5xf32>, tensor<8x3x5xf32>) -> tensor<8x3x5xf32>
  %y, %mean, %variance = graph.batch_norm %z, %s, %s [0, 2] {eps = 1.0e-5, groups = GROUPS : i64}
      : (tensor<8x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3x5xf32>, tensor<8x3xf32>, tensor<8x3xf32>)
  %r:2 = graph.running_statistics %m, %v, %mean, %variance {momentum = 0.1, cells = 20 : i64, unbiased, groups = GROUPS : i64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<8x3xf32>, tensor<8x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %t = graph.transpose %y [0, 2, 1] : (tensor<8x3x5xf32>) -> tensor<8x5x3xf32>
  %sum, %count, %lse = graph.cross_entropy %t, %labels : (tensor<8x5x3xf32>, tensor<8x5xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x5xf32>)
  graph.write @mean, %r#0 : tensor<3xf32>
  graph.write @variance, %r#1 : tensor<3xf32>
  return %sum, %count : tensor<f32>, tensor<f32>
}
