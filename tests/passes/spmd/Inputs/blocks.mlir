// Two equal blocks between an embedding and a head.
graph.state @embedding : tensor<80x64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "embedding.weight", saved_shape = array<i64: 80, 64>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @h0w : tensor<64x64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "h.0.w", saved_shape = array<i64: 64, 64>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @h0b : tensor<64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "h.0.b", saved_shape = array<i64: 64>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @h1w : tensor<64x64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "h.1.w", saved_shape = array<i64: 64, 64>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @h1b : tensor<64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "h.1.b", saved_shape = array<i64: 64>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @scale : tensor<64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "scale", saved_shape = array<i64: 64>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @head : tensor<64x70xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head.weight", saved_shape = array<i64: 64, 70>, init = #graph.init<normal, 0.0, 0.02>}
func.func @loss(%ids: tensor<8xi64> {graph.name = "ids", graph.role = "tokens"}, %labels: tensor<8xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %embedding = graph.read @embedding : tensor<80x64xf32>
  %x0 = graph.embedding %embedding, %ids : (tensor<80x64xf32>, tensor<8xi64>) -> tensor<8x64xf32>
  %w0 = graph.read @h0w : tensor<64x64xf32>
  %b0 = graph.read @h0b : tensor<64xf32>
  %p0 = graph.contract "bk,kn->bn" %x0, %w0 : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %bb0 = graph.broadcast %b0 [1] : (tensor<64xf32>) -> tensor<8x64xf32>
  %s0 = graph.add %p0, %bb0 : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %x1 = graph.relu %s0 : tensor<8x64xf32>
  %w1 = graph.read @h1w : tensor<64x64xf32>
  %b1 = graph.read @h1b : tensor<64xf32>
  %p1 = graph.contract "bk,kn->bn" %x1, %w1 : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %bb1 = graph.broadcast %b1 [1] : (tensor<64xf32>) -> tensor<8x64xf32>
  %s1 = graph.add %p1, %bb1 : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %x2 = graph.relu %s1 : tensor<8x64xf32>
  %scale = graph.read @scale : tensor<64xf32>
  %sb = graph.broadcast %scale [1] : (tensor<64xf32>) -> tensor<8x64xf32>
  %y = graph.mul %x2, %sb : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %head = graph.read @head : tensor<64x70xf32>
  %logits = graph.contract "bn,nv->bv" %y, %head : (tensor<8x64xf32>, tensor<64x70xf32>) -> tensor<8x70xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x70xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
