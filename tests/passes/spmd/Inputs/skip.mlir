graph.state @w0 : tensor<4x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w0", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w1 : tensor<4x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w2 : tensor<4x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w3 : tensor<4x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w3", saved_shape = array<i64: 4, 4>, init = #graph.init<normal, 0.0, 0.5>}
// What the first layer makes is read by the last alone.
func.func @loss(%x: tensor<8x4xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w0 = graph.read @w0 : tensor<4x4xf32>
  %w1 = graph.read @w1 : tensor<4x4xf32>
  %w2 = graph.read @w2 : tensor<4x4xf32>
  %w3 = graph.read @w3 : tensor<4x4xf32>
  %a = graph.contract "bk,kn->bn" %x, %w0 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %b = graph.contract "bk,kn->bn" %x, %w1 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c = graph.contract "bk,kn->bn" %b, %w2 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %d = graph.contract "bk,kn->bn" %c, %w3 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %logits = graph.add %a, %d : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
