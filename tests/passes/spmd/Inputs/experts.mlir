graph.state @wte : tensor<13x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wte", saved_shape = array<i64: 13, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @ln.w : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "ln.w", saved_shape = array<i64: 6>, init = #graph.init<constant, 1.0>}
graph.state @ln.b : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "ln.b", saved_shape = array<i64: 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @router : tensor<4x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router", saved_shape = array<i64: 4, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w_in : tensor<4x2x5x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w_in", saved_shape = array<i64: 4, 10, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w_out : tensor<4x6x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w_out", saved_shape = array<i64: 4, 6, 5>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<13x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 13, 6>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%ids: tensor<8x4xi64> {graph.name = "input_ids", graph.role = "tokens"}, %labels: tensor<8x4xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %wte = graph.read @wte : tensor<13x6xf32>
  %x = graph.embedding %wte, %ids : (tensor<13x6xf32>, tensor<8x4xi64>) -> tensor<8x4x6xf32>
  %lnw = graph.read @ln.w : tensor<6xf32>
  %lnb = graph.read @ln.b : tensor<6xf32>
  %n, %m, %r = graph.layer_norm %x, %lnw, %lnb [2] {eps = 1.0e-5 : f64} : (tensor<8x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<8x4x6xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  %router = graph.read @router : tensor<4x6xf32>
  %scores = graph.contract "btc,ec->bte" %n, %router : (tensor<8x4x6xf32>, tensor<4x6xf32>) -> tensor<8x4x4xf32>
  %best, %picked = graph.top_k %scores : (tensor<8x4x4xf32>) -> (tensor<8x4x2xf32>, tensor<8x4x2xi64>)
  %weights = graph.softmax %best [2] : tensor<8x4x2xf32>
  %win = graph.read @w_in : tensor<4x2x5x6xf32>
  %wout = graph.read @w_out : tensor<4x6x5xf32>
  %y, %hidden = graph.experts %n, %picked, %weights, %win, %wout : (tensor<8x4x6xf32>, tensor<8x4x2xi64>, tensor<8x4x2xf32>, tensor<4x2x5x6xf32>, tensor<4x6x5xf32>) -> (tensor<8x4x6xf32>, tensor<8x4x2x2x5xf32>)
  %x1 = graph.add %x, %y : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
  %head = graph.read @head : tensor<13x6xf32>
  %logits = graph.contract "btc,vc->btv" %x1, %head : (tensor<8x4x6xf32>, tensor<13x6xf32>) -> tensor<8x4x13xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x4x13xf32>, tensor<8x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
