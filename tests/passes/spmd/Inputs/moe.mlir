// A mixture of experts with attention to grouped keys over 7 positions, as Mixtral has it: positions divide by no number of
// ranks, rotary angles count them, and weights of picks are divided by their sum.
graph.state @wte : tensor<13x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wte", saved_shape = array<i64: 13, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @ln1 : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "ln1", saved_shape = array<i64: 6>, init = #graph.init<constant, 1.0>}
graph.state @wq : tensor<6x2x2x1x2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wq", saved_shape = array<i64: 6, 8>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @wk : tensor<6x2x1x2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wk", saved_shape = array<i64: 6, 4>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @wv : tensor<6x2x2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wv", saved_shape = array<i64: 6, 4>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @wo : tensor<2x2x2x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "wo", saved_shape = array<i64: 8, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @ln2 : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "ln2", saved_shape = array<i64: 6>, init = #graph.init<constant, 1.0>}
graph.state @router : tensor<4x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router", saved_shape = array<i64: 4, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w_in : tensor<4x2x5x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w_in", saved_shape = array<i64: 4, 10, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @w_out : tensor<4x6x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w_out", saved_shape = array<i64: 4, 6, 5>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @ln3 : tensor<6xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "ln3", saved_shape = array<i64: 6>, init = #graph.init<constant, 1.0>}
graph.state @head : tensor<13x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 13, 6>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%ids: tensor<8x7xi64> {graph.name = "input_ids", graph.role = "tokens"}, %labels: tensor<8x7xi64> {graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %wte = graph.read @wte : tensor<13x6xf32>
  %x = graph.embedding %wte, %ids : (tensor<13x6xf32>, tensor<8x7xi64>) -> tensor<8x7x6xf32>
  %count = graph.iota {dim = 0 : i64} : tensor<7xi64>
  %position = graph.cast %count : (tensor<7xi64>) -> tensor<7xf32>
  %angles = graph.broadcast %position [0] : (tensor<7xf32>) -> tensor<7x1xf32>
  %cos = graph.cos %angles : tensor<7x1xf32>
  %sin = graph.sin %angles : tensor<7x1xf32>
  %ln1 = graph.read @ln1 : tensor<6xf32>
  %n1, %r1 = graph.rms_norm %x, %ln1 [2] {eps = 1.0e-5 : f64} : (tensor<8x7x6xf32>, tensor<6xf32>) -> (tensor<8x7x6xf32>, tensor<8x7xf32>)
  %wq = graph.read @wq : tensor<6x2x2x1x2xf32>
  %q0 = graph.contract "abc,cdefg->abdefg" %n1, %wq : (tensor<8x7x6xf32>, tensor<6x2x2x1x2xf32>) -> tensor<8x7x2x2x1x2xf32>
  %q1 = graph.rotary %q0, %cos, %sin [1, 4] {pair = 5 : i64} : (tensor<8x7x2x2x1x2xf32>, tensor<7x1xf32>, tensor<7x1xf32>) -> tensor<8x7x2x2x1x2xf32>
  %q = graph.reshape %q1 : (tensor<8x7x2x2x1x2xf32>) -> tensor<8x7x2x2x2xf32>
  %wk = graph.read @wk : tensor<6x2x1x2xf32>
  %k0 = graph.contract "abc,cdef->abdef" %n1, %wk : (tensor<8x7x6xf32>, tensor<6x2x1x2xf32>) -> tensor<8x7x2x1x2xf32>
  %k1 = graph.rotary %k0, %cos, %sin [1, 3] {pair = 4 : i64} : (tensor<8x7x2x1x2xf32>, tensor<7x1xf32>, tensor<7x1xf32>) -> tensor<8x7x2x1x2xf32>
  %k = graph.reshape %k1 : (tensor<8x7x2x1x2xf32>) -> tensor<8x7x2x2xf32>
  %wv = graph.read @wv : tensor<6x2x2xf32>
  %v = graph.contract "abc,cde->abde" %n1, %wv : (tensor<8x7x6xf32>, tensor<6x2x2xf32>) -> tensor<8x7x2x2xf32>
  %a, %lse = graph.attention %q, %k, %v <causal = true> {scale = 0.70710678118654757 : f64} : (tensor<8x7x2x2x2xf32>, tensor<8x7x2x2xf32>, tensor<8x7x2x2xf32>) -> (tensor<8x7x2x2x2xf32>, tensor<8x2x2x7xf32>)
  %wo = graph.read @wo : tensor<2x2x2x6xf32>
  %o = graph.contract "abcde,cdef->abf" %a, %wo : (tensor<8x7x2x2x2xf32>, tensor<2x2x2x6xf32>) -> tensor<8x7x6xf32>
  %x1 = graph.add %x, %o : (tensor<8x7x6xf32>, tensor<8x7x6xf32>) -> tensor<8x7x6xf32>
  %ln2 = graph.read @ln2 : tensor<6xf32>
  %n2, %r2 = graph.rms_norm %x1, %ln2 [2] {eps = 1.0e-5 : f64} : (tensor<8x7x6xf32>, tensor<6xf32>) -> (tensor<8x7x6xf32>, tensor<8x7xf32>)
  %router = graph.read @router : tensor<4x6xf32>
  %scores = graph.contract "abc,dc->abd" %n2, %router : (tensor<8x7x6xf32>, tensor<4x6xf32>) -> tensor<8x7x4xf32>
  %p = graph.softmax %scores [2] : tensor<8x7x4xf32>
  %best, %picked = graph.top_k %p : (tensor<8x7x4xf32>) -> (tensor<8x7x2xf32>, tensor<8x7x2xi64>)
  %total = graph.reduce sum %best [2] : (tensor<8x7x2xf32>) -> tensor<8x7xf32>
  %totals = graph.broadcast %total [0, 1] : (tensor<8x7xf32>) -> tensor<8x7x2xf32>
  %weights = graph.div %best, %totals : (tensor<8x7x2xf32>, tensor<8x7x2xf32>) -> tensor<8x7x2xf32>
  %win = graph.read @w_in : tensor<4x2x5x6xf32>
  %wout = graph.read @w_out : tensor<4x6x5xf32>
  %y, %hidden = graph.experts %n2, %picked, %weights, %win, %wout : (tensor<8x7x6xf32>, tensor<8x7x2xi64>, tensor<8x7x2xf32>, tensor<4x2x5x6xf32>, tensor<4x6x5xf32>) -> (tensor<8x7x6xf32>, tensor<8x7x2x2x5xf32>)
  %x2 = graph.add %x1, %y : (tensor<8x7x6xf32>, tensor<8x7x6xf32>) -> tensor<8x7x6xf32>
  %ln3 = graph.read @ln3 : tensor<6xf32>
  %n3, %r3 = graph.rms_norm %x2, %ln3 [2] {eps = 1.0e-5 : f64} : (tensor<8x7x6xf32>, tensor<6xf32>) -> (tensor<8x7x6xf32>, tensor<8x7xf32>)
  %head = graph.read @head : tensor<13x6xf32>
  %logits = graph.contract "abc,dc->abd" %n3, %head : (tensor<8x7x6xf32>, tensor<13x6xf32>) -> tensor<8x7x13xf32>
  %next = graph.shift %labels {dim = 1 : i64, amount = 1 : i64, fill = -100 : i64} : tensor<8x7xi64>
  %sum, %number, %lsev = graph.cross_entropy %logits, %next {ignore_index = -100 : i64} : (tensor<8x7x13xf32>, tensor<8x7xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x7xf32>)
  return %sum, %number : tensor<f32>, tensor<f32>
}
