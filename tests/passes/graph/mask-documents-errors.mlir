// RUN: dtcc-opt %s --split-input-file --verify-diagnostics --graph-mask-documents

module {
  // expected-error @+1 {{--mask-documents needs a model that reads one input of tokens, got: none}}
  func.func @loss(%x: tensor<4x16x2x4xf32> {graph.name = "x", graph.role = "data"}) -> tensor<4x16x2x4xf32> {
    return %x : tensor<4x16x2x4xf32>
  }
}

// -----

module {
  // expected-error @+1 {{--mask-documents needs attention, and none was recognised in this model}}
  func.func @loss(%ids: tensor<4x16xi64> {graph.name = "ids", graph.role = "tokens"}) -> tensor<4x16xi64> {
    return %ids : tensor<4x16xi64>
  }
}

// -----

// A state that runs along the positions goes through documents.
module {
  graph.state @tokens : tensor<9x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "tokens", saved_shape = array<i64: 9, 8>, init = #graph.init<zero>}
  func.func @loss(%ids: tensor<4x16xi64> {graph.name = "ids", graph.role = "tokens"}) -> tensor<4x16x2x4xf32> {
    %t = graph.read @tokens : tensor<9x8xf32>
    %e = graph.embedding %t, %ids : (tensor<9x8xf32>, tensor<4x16xi64>) -> tensor<4x16x8xf32>
    // expected-error @+1 {{this operation mixes positions in another way}}
    %s = graph.cumsum %e {dim = 1 : i64} : tensor<4x16x8xf32>
    %h = graph.reshape %s : (tensor<4x16x8xf32>) -> tensor<4x16x2x4xf32>
    %out, %lse = graph.attention %h, %h, %h <causal = true> {scale = 0.5 : f64} : (tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>) -> (tensor<4x16x2x4xf32>, tensor<4x2x16xf32>)
    return %out : tensor<4x16x2x4xf32>
  }
}

// -----

module {
  graph.state @tokens : tensor<9x2x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "tokens", saved_shape = array<i64: 9, 2, 4>, init = #graph.init<zero>}
  graph.state @bias : tensor<2x16x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "bias", saved_shape = array<i64: 2, 16, 16>, init = #graph.init<zero>}
  func.func @loss(%ids: tensor<4x16xi64> {graph.name = "ids", graph.role = "tokens"}) -> tensor<4x16x2x4xf32> {
    %t = graph.read @tokens : tensor<9x2x4xf32>
    %h = graph.embedding %t, %ids : (tensor<9x2x4xf32>, tensor<4x16xi64>) -> tensor<4x16x2x4xf32>
    %b = graph.read @bias : tensor<2x16x16xf32>
    // expected-error @+1 {{cannot mask attention with a bias on its scores}}
    %out, %lse = graph.attention %h, %h, %h bias %b <causal = true> {scale = 0.5 : f64} : (tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>, tensor<2x16x16xf32>) -> (tensor<4x16x2x4xf32>, tensor<4x2x16xf32>)
    return %out : tensor<4x16x2x4xf32>
  }
}

// -----

// Scores that are no attention op.
module {
  graph.state @tokens : tensor<9x2x4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "tokens", saved_shape = array<i64: 9, 2, 4>, init = #graph.init<zero>}
  func.func @loss(%ids: tensor<4x16xi64> {graph.name = "ids", graph.role = "tokens"}) -> tensor<4x16x2x4xf32> {
    %t = graph.read @tokens : tensor<9x2x4xf32>
    %h = graph.embedding %t, %ids : (tensor<9x2x4xf32>, tensor<4x16xi64>) -> tensor<4x16x2x4xf32>
    %x = graph.contract "bthd,bshd->bhts" %h, %h : (tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>) -> tensor<4x2x16x16xf32>
    // expected-error @+1 {{this operation mixes positions in another way}}
    %p = graph.softmax %x [3] : tensor<4x2x16x16xf32>
    %y = graph.contract "bhts,bshe->bthe" %p, %h : (tensor<4x2x16x16xf32>, tensor<4x16x2x4xf32>) -> tensor<4x16x2x4xf32>
    return %y : tensor<4x16x2x4xf32>
  }
}
