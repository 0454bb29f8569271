graph.state @wte : tensor<13x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wte", saved_shape = array<i64: 13, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @wpe : tensor<4x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wpe", saved_shape = array<i64: 4, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @ln1.w : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "ln1.w", saved_shape = array<i64: 6>, init = #graph.init<constant, 1.0>}
graph.state @ln1.b : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "ln1.b", saved_shape = array<i64: 6>, init = #graph.init<zero>}
graph.state @wqkv : tensor<6x3x3x2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wqkv", saved_shape = array<i64: 6, 18>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @bqkv : tensor<3x3x2xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "bqkv", saved_shape = array<i64: 18>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @wo : tensor<3x2x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wo", saved_shape = array<i64: 6, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @bo : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "bo", saved_shape = array<i64: 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @ln2.w : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "ln2.w", saved_shape = array<i64: 6>, init = #graph.init<constant, 1.0>}
graph.state @ln2.b : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "ln2.b", saved_shape = array<i64: 6>, init = #graph.init<zero>}
graph.state @w1 : tensor<6x10xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1", saved_shape = array<i64: 6, 10>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @b1 : tensor<10xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "b1", saved_shape = array<i64: 10>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w2 : tensor<10x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2", saved_shape = array<i64: 10, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @b2 : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "b2", saved_shape = array<i64: 6>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%ids: tensor<8x4xi64> {graph.name = "input_ids", graph.role = "tokens"}, %labels: tensor<8x4xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %wte = graph.read @wte : tensor<13x6xf32>
  %wpe = graph.read @wpe : tensor<4x6xf32>
  %tok = graph.embedding %wte, %ids : (tensor<13x6xf32>, tensor<8x4xi64>) -> tensor<8x4x6xf32>
  %iota = graph.iota {dim = 0 : i64} : tensor<4xi64>
  %pos = graph.embedding %wpe, %iota : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %posb = graph.broadcast %pos [1, 2] : (tensor<4x6xf32>) -> tensor<8x4x6xf32>
  %x = graph.add %tok, %posb : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
  %ln1w = graph.read @ln1.w : tensor<6xf32>
  %ln1b = graph.read @ln1.b : tensor<6xf32>
  %n1, %m1, %r1 = graph.layer_norm %x, %ln1w, %ln1b [2] {eps = 1.0e-5 : f64} : (tensor<8x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<8x4x6xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  %wqkv = graph.read @wqkv : tensor<6x3x3x2xf32>
  %bqkv = graph.read @bqkv : tensor<3x3x2xf32>
  %qkv0 = graph.contract "btc,cshd->btshd" %n1, %wqkv : (tensor<8x4x6xf32>, tensor<6x3x3x2xf32>) -> tensor<8x4x3x3x2xf32>
  %qkvb = graph.broadcast %bqkv [2, 3, 4] : (tensor<3x3x2xf32>) -> tensor<8x4x3x3x2xf32>
  %qkv = graph.add %qkv0, %qkvb : (tensor<8x4x3x3x2xf32>, tensor<8x4x3x3x2xf32>) -> tensor<8x4x3x3x2xf32>
  %q, %k, %v = graph.unstack %qkv {dim = 2 : i64} : (tensor<8x4x3x3x2xf32>) -> (tensor<8x4x3x2xf32>, tensor<8x4x3x2xf32>, tensor<8x4x3x2xf32>)
  %a, %lse = graph.attention %q, %k, %v <causal = true> {scale = 0.70710678118654757 : f64} : (tensor<8x4x3x2xf32>, tensor<8x4x3x2xf32>, tensor<8x4x3x2xf32>) -> (tensor<8x4x3x2xf32>, tensor<8x3x4xf32>)
  %wo = graph.read @wo : tensor<3x2x6xf32>
  %bo = graph.read @bo : tensor<6xf32>
  %o0 = graph.contract "bthd,hdc->btc" %a, %wo : (tensor<8x4x3x2xf32>, tensor<3x2x6xf32>) -> tensor<8x4x6xf32>
  %ob = graph.broadcast %bo [2] : (tensor<6xf32>) -> tensor<8x4x6xf32>
  %o = graph.add %o0, %ob : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
  %x1 = graph.add %x, %o : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
  %ln2w = graph.read @ln2.w : tensor<6xf32>
  %ln2b = graph.read @ln2.b : tensor<6xf32>
  %n2, %m2, %r2 = graph.layer_norm %x1, %ln2w, %ln2b [2] {eps = 1.0e-5 : f64} : (tensor<8x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<8x4x6xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  %w1 = graph.read @w1 : tensor<6x10xf32>
  %b1 = graph.read @b1 : tensor<10xf32>
  %h0 = graph.contract "btc,cn->btn" %n2, %w1 : (tensor<8x4x6xf32>, tensor<6x10xf32>) -> tensor<8x4x10xf32>
  %hb = graph.broadcast %b1 [2] : (tensor<10xf32>) -> tensor<8x4x10xf32>
  %h1 = graph.add %h0, %hb : (tensor<8x4x10xf32>, tensor<8x4x10xf32>) -> tensor<8x4x10xf32>
  %h = graph.gelu %h1 {form = #graph<gelu_form tanh>} : tensor<8x4x10xf32>
  %w2 = graph.read @w2 : tensor<10x6xf32>
  %b2 = graph.read @b2 : tensor<6xf32>
  %f0 = graph.contract "btn,nc->btc" %h, %w2 : (tensor<8x4x10xf32>, tensor<10x6xf32>) -> tensor<8x4x6xf32>
  %fb = graph.broadcast %b2 [2] : (tensor<6xf32>) -> tensor<8x4x6xf32>
  %f = graph.add %f0, %fb : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
  %x2 = graph.add %x1, %f : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
  %logits = graph.contract "btc,vc->btv" %x2, %wte : (tensor<8x4x6xf32>, tensor<13x6xf32>) -> tensor<8x4x13xf32>
  %shifted = graph.shift %labels {dim = 1 : i64, amount = 1 : i64, fill = -100 : i64} : tensor<8x4xi64>
  %sum, %count, %lsev = graph.cross_entropy %logits, %shifted {ignore_index = -100 : i64} : (tensor<8x4x13xf32>, tensor<8x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
