graph.state @w : tensor<6x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 6, 6>, init = #graph.init<normal, 0.0, 0.02>}
func.func @step(%x: tensor<8x6xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<6x6xf32>
  %h1 = graph.contract "bk,kn->bn" %x, %w {origin = 0 : i64, phase = "F"} : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %h = graph.relu %h1 {origin = 3 : i64, phase = "F"} : tensor<8x6xf32>
  %logits = graph.contract "bn,nv->bv" %h, %w {origin = 4 : i64, phase = "F"} : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64, origin = 5 : i64, phase = "F"} : (tensor<8x6xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  %dlogits = graph.cross_entropy_grad %logits, %labels, %lse {ignore_index = -100 : i64, origin = 5 : i64, phase = "I", origin_factors = array<i64: 0, 1>} : (tensor<8x6xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x6xf32>
  %dw2 = graph.contract "bn,bv->nv" %h, %dlogits {origin = 4 : i64, phase = "W", origin_factors = array<i64: 2, 1, 0>} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %dh = graph.contract "bv,nv->bn" %dlogits, %w {origin = 4 : i64, phase = "I", origin_factors = array<i64: 0, 2, 1>} : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %dh1 = graph.relu_grad %h1, %dh {origin = 3 : i64, phase = "I", origin_factors = array<i64: 0, 1>} : tensor<8x6xf32>
  %dw1 = graph.contract "bk,bn->kn" %x, %dh1 {origin = 0 : i64, phase = "W", origin_factors = array<i64: 2, 1, 0>} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %dw = graph.add %dw2, %dw1 {origin = 0 : i64, phase = "W", origin_factors = array<i64: 2, 1>} : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %norm = graph.update %count, (%dw) to [@w] {optimizer = #graph.sgd<lr = 0.001, momentum = 0.0, dampening = 0.0, nesterov = false, weight_decay = 0.0>, clip = 0.0 : f64} : (tensor<f32>, tensor<6x6xf32>) -> tensor<f32>
  return %sum, %count, %norm : tensor<f32>, tensor<f32>, tensor<f32>
}
