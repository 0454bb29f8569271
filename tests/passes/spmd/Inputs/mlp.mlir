graph.state @w1 : tensor<4x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1", saved_shape = array<i64: 4, 6>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @b1 : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "b1", saved_shape = array<i64: 6>, init = #graph.init<zero>}
graph.state @w2 : tensor<6x9xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2", saved_shape = array<i64: 6, 9>, init = #graph.init<normal, 0.0, 0.02>}
func.func @step(%x: tensor<8x4xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %w1 = graph.read @w1 : tensor<4x6xf32>
  %b1 = graph.read @b1 : tensor<6xf32>
  %w2 = graph.read @w2 : tensor<6x9xf32>
  %h0 = graph.contract "bk,kn->bn" %x, %w1 {origin = 0 : i64, phase = "F"} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %bb = graph.broadcast %b1 [1] {origin = 1 : i64, phase = "F"} : (tensor<6xf32>) -> tensor<8x6xf32>
  %h1 = graph.add %h0, %bb {origin = 2 : i64, phase = "F"} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %h = graph.relu %h1 {origin = 3 : i64, phase = "F"} : tensor<8x6xf32>
  %logits = graph.contract "bn,nv->bv" %h, %w2 {origin = 4 : i64, phase = "F"} : (tensor<8x6xf32>, tensor<6x9xf32>) -> tensor<8x9xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64, origin = 5 : i64, phase = "F"} : (tensor<8x9xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  %dlogits = graph.cross_entropy_grad %logits, %labels, %lse {ignore_index = -100 : i64, origin = 5 : i64, phase = "I", origin_factors = array<i64: 0, 1>} : (tensor<8x9xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x9xf32>
  %dw2 = graph.contract "bn,bv->nv" %h, %dlogits {origin = 4 : i64, phase = "W", origin_factors = array<i64: 2, 1, 0>} : (tensor<8x6xf32>, tensor<8x9xf32>) -> tensor<6x9xf32>
  %dh = graph.contract "bv,nv->bn" %dlogits, %w2 {origin = 4 : i64, phase = "I", origin_factors = array<i64: 0, 2, 1>} : (tensor<8x9xf32>, tensor<6x9xf32>) -> tensor<8x6xf32>
  %dh1 = graph.relu_grad %h1, %dh {origin = 3 : i64, phase = "I", origin_factors = array<i64: 0, 1>} : tensor<8x6xf32>
  %db1 = graph.reduce sum %dh1 [0] {origin = 1 : i64, phase = "W", origin_factors = array<i64: 0, 1>} : (tensor<8x6xf32>) -> tensor<6xf32>
  %dw1 = graph.contract "bk,bn->kn" %x, %dh1 {origin = 0 : i64, phase = "W", origin_factors = array<i64: 2, 1, 0>} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %norm = graph.update %count, (%dw1, %db1, %dw2) to [@w1, @b1, @w2] {optimizer = #graph.adam<lr = 0.001, beta1 = 0.9, beta2 = 0.999, eps = 1.0e-8, weight_decay = 0.1, decoupled = true>, clip = 1.0 : f64} : (tensor<f32>, tensor<4x6xf32>, tensor<6xf32>, tensor<6x9xf32>) -> tensor<f32>
  return %sum, %count, %norm : tensor<f32>, tensor<f32>, tensor<f32>
}
