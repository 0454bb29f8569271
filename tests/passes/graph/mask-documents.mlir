// RUN: dtcc-opt %s --split-input-file --graph-mask-documents | FileCheck %s
// A learned embedding of positions: each sample has rows of its own, of the learned table.

// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<4x16xi64> {graph.name = "ids", graph.role = "tokens"}
// CHECK-SAME: %[[PLACES:[^:]*]]: tensor<4x16xi64> {graph.bounds = array<i64: 0, 16, 0>, graph.name = "document_positions", graph.role = "positions"}
// CHECK-SAME: %[[DOCUMENTS:[^:]*]]: tensor<4x16xi64> {graph.bounds = array<i64: 0, 16, 0>, graph.name = "documents", graph.role = "documents"}
// CHECK: %[[TABLE:.*]] = graph.read @positions
// CHECK: %[[ROWS:.*]] = graph.embedding %[[TABLE]], %[[PLACES]] : (tensor<32x8xf32>, tensor<4x16xi64>) -> tensor<4x16x8xf32>
// CHECK: %[[X:.*]] = graph.add %{{.*}}, %[[ROWS]]
// CHECK: graph.attention %{{.*}} mask(%[[DOCUMENTS]], %[[DOCUMENTS]]) <causal = true, segment = true>
module {
  graph.state @tokens : tensor<9x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "tokens", saved_shape = array<i64: 9, 8>, init = #graph.init<zero>}
  graph.state @positions : tensor<32x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "positions", saved_shape = array<i64: 32, 8>, init = #graph.init<zero>}
  func.func @loss(%ids: tensor<4x16xi64> {graph.name = "ids", graph.role = "tokens"}) -> tensor<4x16x2x4xf32> {
    %t = graph.read @tokens : tensor<9x8xf32>
    %e = graph.embedding %t, %ids : (tensor<9x8xf32>, tensor<4x16xi64>) -> tensor<4x16x8xf32>
    %w = graph.read @positions : tensor<32x8xf32>
    %i = graph.iota {dim = 0 : i64} : tensor<16xi64>
    %p = graph.embedding %w, %i : (tensor<32x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
    %b = graph.broadcast %p [1, 2] : (tensor<16x8xf32>) -> tensor<4x16x8xf32>
    %x = graph.add %e, %b : (tensor<4x16x8xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
    %h = graph.reshape %x : (tensor<4x16x8xf32>) -> tensor<4x16x2x4xf32>
    %out, %lse = graph.attention %h, %h, %h <causal = true> {scale = 0.5 : f64} : (tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>) -> (tensor<4x16x2x4xf32>, tensor<4x2x16xf32>)
    return %out : tensor<4x16x2x4xf32>
  }
}

// -----

// Tables of rotary embedding: their rows are looked up. A key mask stays in front of the segments.

// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[PLACES:[^:]*]]: tensor<4x16xi64> {graph.bounds = array<i64: 0, 16, 0>, graph.name = "document_positions"
// CHECK-SAME: %[[DOCUMENTS:[^:]*]]: tensor<4x16xi64> {graph.bounds = array<i64: 0, 16, 0>, graph.name = "documents"
// CHECK: %[[COS:.*]] = graph.cos %[[ANGLES:.*]] : tensor<16x2xf32>
// CHECK: %[[EACH:.*]] = graph.embedding %[[COS]], %[[PLACES]] : (tensor<16x2xf32>, tensor<4x16xi64>) -> tensor<4x16x2xf32>
// CHECK: graph.rotary %{{.*}}, %[[EACH]], %{{.*}} [0, 1, 4]
// CHECK: graph.attention %{{.*}} mask(%{{.*}}, %[[DOCUMENTS]], %[[DOCUMENTS]]) <causal = true, key = true, segment = true>
module {
  graph.state @tokens : tensor<9x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "tokens", saved_shape = array<i64: 9, 8>, init = #graph.init<zero>}
  func.func @loss(%ids: tensor<4x16xi64> {graph.name = "ids", graph.role = "tokens"}, %key: tensor<4x16xi1> {graph.name = "mask", graph.role = "data"}) -> tensor<4x16x2x2x2xf32> {
    %t = graph.read @tokens : tensor<9x8xf32>
    %e = graph.embedding %t, %ids : (tensor<9x8xf32>, tensor<4x16xi64>) -> tensor<4x16x8xf32>
    %h = graph.reshape %e : (tensor<4x16x8xf32>) -> tensor<4x16x2x2x2xf32>
    %i = graph.iota {dim = 0 : i64} : tensor<16x2xf32>
    %c = graph.cos %i : tensor<16x2xf32>
    %s = graph.sin %i : tensor<16x2xf32>
    %r = graph.rotary %h, %c, %s [1, 4] {pair = 3 : i64} : (tensor<4x16x2x2x2xf32>, tensor<16x2xf32>, tensor<16x2xf32>) -> tensor<4x16x2x2x2xf32>
    %q = graph.reshape %r : (tensor<4x16x2x2x2xf32>) -> tensor<4x16x2x4xf32>
    %out, %lse = graph.attention %q, %q, %q mask(%key) <causal = true, key = true> {scale = 0.5 : f64} : (tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>, tensor<4x16xi1>) -> (tensor<4x16x2x4xf32>, tensor<4x2x16xf32>)
    %y = graph.reshape %out : (tensor<4x16x2x4xf32>) -> tensor<4x16x2x2x2xf32>
    return %y : tensor<4x16x2x2x2xf32>
  }
}
