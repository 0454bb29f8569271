// A layer of four experts, of which a token picks two.
graph.state @router : tensor<4x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router.weight", saved_shape = array<i64: 4, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @in : tensor<4x2x6x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.in", saved_shape = array<i64: 4, 2, 6, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @out : tensor<4x16x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.out", saved_shape = array<i64: 4, 16, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<16x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head.weight", saved_shape = array<i64: 16, 5>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x3x16xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8x3xi64> {graph.name = "labels", graph.role = "labels", graph.bounds = array<i64: 0, 5, -100>}) -> (tensor<f32>, tensor<f32>) {
  %router = graph.read @router : tensor<4x16xf32>
  %scores = graph.contract "btc,ec->bte" %x, %router : (tensor<8x3x16xf32>, tensor<4x16xf32>) -> tensor<8x3x4xf32>
  %p = graph.softmax %scores [2] : tensor<8x3x4xf32>
  %r, %i = graph.top_k %p : (tensor<8x3x4xf32>) -> (tensor<8x3x2xf32>, tensor<8x3x2xi64>)
  %in = graph.read @in : tensor<4x2x6x16xf32>
  %out = graph.read @out : tensor<4x16x6xf32>
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<8x3x16xf32>, tensor<8x3x2xi64>, tensor<8x3x2xf32>, tensor<4x2x6x16xf32>, tensor<4x16x6xf32>) -> (tensor<8x3x16xf32>, tensor<8x3x2x2x6xf32>)
  %z = graph.add %x, %y : (tensor<8x3x16xf32>, tensor<8x3x16xf32>) -> tensor<8x3x16xf32>
  %head = graph.read @head : tensor<16x5xf32>
  %logits = graph.contract "btn,nv->btv" %z, %head : (tensor<8x3x16xf32>, tensor<16x5xf32>) -> tensor<8x3x5xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x3x5xf32>, tensor<8x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x3xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
