graph.state @wte : tensor<64x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wte", saved_shape = array<i64: 64, 8>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w1 : tensor<8x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1", saved_shape = array<i64: 8, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w2 : tensor<16x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2", saved_shape = array<i64: 16, 8>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<8x32768xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 8, 32768>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%ids: tensor<8x512xi64> {graph.name = "input_ids", graph.role = "tokens"}, %labels: tensor<8x512xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %wte = graph.read @wte : tensor<64x8xf32>
  %x = graph.embedding %wte, %ids : (tensor<64x8xf32>, tensor<8x512xi64>) -> tensor<8x512x8xf32>
  %w1 = graph.read @w1 : tensor<8x16xf32>
  %h = graph.contract "btc,ch->bth" %x, %w1 : (tensor<8x512x8xf32>, tensor<8x16xf32>) -> tensor<8x512x16xf32>
  %a = graph.relu %h : tensor<8x512x16xf32>
  %w2 = graph.read @w2 : tensor<16x8xf32>
  %y = graph.contract "bth,hc->btc" %a, %w2 : (tensor<8x512x16xf32>, tensor<16x8xf32>) -> tensor<8x512x8xf32>
  %head = graph.read @head : tensor<8x32768xf32>
  %logits = graph.contract "btc,cv->btv" %y, %head : (tensor<8x512x8xf32>, tensor<8x32768xf32>) -> tensor<8x512x32768xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<8x512x32768xf32>, tensor<8x512xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x512xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
