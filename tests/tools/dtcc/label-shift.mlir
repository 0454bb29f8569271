// Which token a label of --tokens is: decided by what the export says, else by where the positions of labels and logits
// come from. -v says what and why; a guess is always told.
// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{graph} = dtcc --emit=graph -o -
// RUN: %{graph} %t/inside.mlir | FileCheck %s --check-prefix=ZERO
// RUN: %{graph} %t/outside.mlir | FileCheck %s --check-prefix=ONE
// RUN: %{graph} %t/slices.mlir | FileCheck %s --check-prefix=ZERO
// RUN: %{graph} %t/cut.mlir | FileCheck %s --check-prefix=ONE
// RUN: %{graph} %t/said.mlir | FileCheck %s --check-prefix=SAID
// RUN: %{graph} %t/tables.mlir | FileCheck %s --check-prefix=TABLES
// RUN: %{graph} %t/data.mlir | FileCheck %s --check-prefix=DATA

// RUN: dtcc -v %t/inside.mlir -o %t/program 2>&1 | FileCheck %s --check-prefix=NOTE-INSIDE
// RUN: dtcc -v %t/outside.mlir -o %t/program 2>&1 | FileCheck %s --check-prefix=NOTE-OUTSIDE
// RUN: dtcc %t/tables.mlir -o %t/program 2>&1 | FileCheck %s --check-prefix=NOTE-GUESS
// RUN: dtcc %t/inside.mlir -o %t/program 2>&1 | FileCheck %s --check-prefix=SILENT
// NOTE-INSIDE: note: --tokens labels each token with itself, because the model shifts its labels, as its graph shows
// NOTE-OUTSIDE: note: --tokens labels each token with the next one, as its graph shows
// NOTE-GUESS: note: --tokens labels each token with the next one, as most models expect; its graph does not tell
// SILENT-NOT: --tokens labels

// ZERO: dtcc.label_shift = 0 : i64, dtcc.label_shift_by = "as its graph shows"
// ONE: dtcc.label_shift = 1 : i64, dtcc.label_shift_by = "as its graph shows"
// SAID: dtcc.label_shift = 0 : i64, dtcc.label_shift_by = "as its export says"
// TABLES: dtcc.label_shift = 1 : i64, dtcc.label_shift_by = "as most models expect; its graph does not tell"
// DATA-NOT: dtcc.label_shift

// A label for a whole sample is no token: nothing is told of --tokens, which does not fill it, and accuracy is.
// RUN: dtcc %t/classes.mlir -o %t/classes 2>&1 | FileCheck %s --check-prefix=CLASSES --implicit-check-not=--tokens
// CLASSES: run {{.*}}classes --data=FOLDER --steps=100
// RUN: %t/classes --info | FileCheck %s --check-prefix=ACCURACY
// ACCURACY: eval the loss and accuracy of other data
// RUN: printf '0123456789ABCDEF%%.0s' $(seq 40) | tr 0-9A-F '\0-\7\0-\7' > %t/ids && not %t/classes --tokens=%t/ids:u8 2>&1 | FileCheck %s --check-prefix=UNFILLED
// UNFILLED: error: --tokens does not fill the input 'labels': give it by --data=labels=FILE.npy

// A category of each sample looks up a row as a token does, and its model labels samples.
// RUN: dtcc %t/categories.mlir -o %t/categories && %t/categories --info | FileCheck %s --check-prefix=ACCURACY

// Which of two inputs --tokens would fill, the summary does not say.
// RUN: dtcc %t/types.mlir -o %t/program 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: run {{.*}}program --data=FOLDER --steps=100

// Attention that is not causal sees the token that is a label.
// RUN: dtcc %t/both-ways.mlir -o %t/program 2>&1 | FileCheck %s --check-prefix=SEEN
// SEEN: note: --tokens labels each token with the next one, and this model sees it, because its attention is not causal: give labels of your own by --data=labels=FILE.npy
// RUN: sed 's/<> {scale/<causal = true> {scale/' %t/both-ways.mlir > %t/causal.mlir && not cmp -s %t/causal.mlir %t/both-ways.mlir
// RUN: dtcc %t/causal.mlir -o %t/program 2>&1 | FileCheck %s --check-prefix=UNSEEN
// UNSEEN-NOT: sees it
// Attention to an image shows no token, and a label of a whole sample is none.
// RUN: dtcc %t/sentences.mlir -o %t/program 2>&1 | FileCheck %s --check-prefix=UNSEEN
// RUN: dtcc %t/beside.mlir -o %t/program 2>&1 | FileCheck %s --check-prefix=UNSEEN

//--- both-ways.mlir
graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %q = graph.reshape %x : (tensor<4x8x6xf32>) -> tensor<4x8x2x3xf32>
  %out, %max = graph.attention %q, %q, %q <> {scale = 0.5} : (tensor<4x8x2x3xf32>, tensor<4x8x2x3xf32>, tensor<4x8x2x3xf32>) -> (tensor<4x8x2x3xf32>, tensor<4x2x8xf32>)
  %h = graph.reshape %out : (tensor<4x8x2x3xf32>) -> tensor<4x8x6xf32>
  %y = graph.contract "btc,vc->btv" %h, %w : (tensor<4x8x6xf32>, tensor<11x6xf32>) -> tensor<4x8x11xf32>
  %sum, %count, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
//--- types.mlir
graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %types: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "types", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %type = graph.embedding %w, %types : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %h = graph.add %x, %type : (tensor<4x8x6xf32>, tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
  %y = graph.contract "btc,vc->btv" %h, %w : (tensor<4x8x6xf32>, tensor<11x6xf32>) -> tensor<4x8x11xf32>
  %sum, %count, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
//--- sentences.mlir
graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %q = graph.reshape %x : (tensor<4x8x6xf32>) -> tensor<4x8x2x3xf32>
  %out, %max = graph.attention %q, %q, %q <> {scale = 0.5} : (tensor<4x8x2x3xf32>, tensor<4x8x2x3xf32>, tensor<4x8x2x3xf32>) -> (tensor<4x8x2x3xf32>, tensor<4x2x8xf32>)
  %h = graph.reshape %out : (tensor<4x8x2x3xf32>) -> tensor<4x8x6xf32>
  %summed = graph.reduce sum %h [1] : (tensor<4x8x6xf32>) -> tensor<4x6xf32>
  %y = graph.contract "bc,vc->bv" %summed, %w : (tensor<4x6xf32>, tensor<11x6xf32>) -> tensor<4x11xf32>
  %sum, %count, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<4x11xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
//--- beside.mlir
graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%image: tensor<4x8x2x3xf32> {graph.name = "image", graph.role = "data"}, %ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %q = graph.reshape %x : (tensor<4x8x6xf32>) -> tensor<4x8x2x3xf32>
  %out, %max = graph.attention %q, %image, %image <> {scale = 0.5} : (tensor<4x8x2x3xf32>, tensor<4x8x2x3xf32>, tensor<4x8x2x3xf32>) -> (tensor<4x8x2x3xf32>, tensor<4x2x8xf32>)
  %h = graph.reshape %out : (tensor<4x8x2x3xf32>) -> tensor<4x8x6xf32>
  %y = graph.contract "btc,vc->btv" %h, %w : (tensor<4x8x6xf32>, tensor<11x6xf32>) -> tensor<4x8x11xf32>
  %sum, %count, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
//--- categories.mlir
graph.state @w : tensor<11x3xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "w", saved_shape = array<i64: 11, 3>, trainable = true}
func.func @loss(%kind: tensor<4xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "kind", graph.role = "tokens"}, %labels: tensor<4xi64> {graph.bounds = array<i64: 0, 3, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<11x3xf32>
  %logits = graph.embedding %w, %kind : (tensor<11x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
//--- classes.mlir
graph.state @w : tensor<11x3xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "w", saved_shape = array<i64: 11, 3>, trainable = true}
func.func @loss(%ids: tensor<4x6xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4xi64> {graph.bounds = array<i64: 0, 3, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<11x3xf32>
  %rows = graph.embedding %w, %ids : (tensor<11x3xf32>, tensor<4x6xi64>) -> tensor<4x6x3xf32>
  %logits = graph.reduce sum %rows [1] : (tensor<4x6x3xf32>) -> tensor<4x3xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
//--- inside.mlir
graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %y = graph.contract "btc,vc->btv" %x, %w : (tensor<4x8x6xf32>, tensor<11x6xf32>) -> tensor<4x8x11xf32>
  %next = graph.shift %labels {amount = 1 : i64, dim = 1 : i64, fill = -100 : i64} : tensor<4x8xi64>
  %sum, %count, %lse = graph.cross_entropy %y, %next {ignore_index = -100 : i64} : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

//--- outside.mlir
graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %y = graph.contract "btc,vc->btv" %x, %w : (tensor<4x8x6xf32>, tensor<11x6xf32>) -> tensor<4x8x11xf32>
  %sum, %count, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// The last position has no label, the first label has no position; both are flat.
//--- slices.mlir
graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %h = graph.slice %x [0, 0, 0] [1, 1, 1] : (tensor<4x8x6xf32>) -> tensor<4x7x6xf32>
  %y = graph.contract "btc,vc->btv" %h, %w : (tensor<4x7x6xf32>, tensor<11x6xf32>) -> tensor<4x7x11xf32>
  %next = graph.slice %labels [0, 1] [1, 1] : (tensor<4x8xi64>) -> tensor<4x7xi64>
  %sum, %count, %lse = graph.cross_entropy %y, %next {ignore_index = -100 : i64} : (tensor<4x7x11xf32>, tensor<4x7xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x7xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// Labels are sliced, and the logits alike: nothing is shifted.
//--- cut.mlir
graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %h = graph.slice %x [0, 1, 0] [1, 1, 1] : (tensor<4x8x6xf32>) -> tensor<4x7x6xf32>
  %y = graph.contract "btc,vc->btv" %h, %w : (tensor<4x7x6xf32>, tensor<11x6xf32>) -> tensor<4x7x11xf32>
  %same = graph.slice %labels [0, 1] [1, 1] : (tensor<4x8xi64>) -> tensor<4x7xi64>
  %sum, %count, %lse = graph.cross_entropy %y, %same {ignore_index = -100 : i64} : (tensor<4x7x11xf32>, tensor<4x7xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x7xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// What the export says counts, whatever the graph looks like.
//--- said.mlir
module attributes {graph.loss_shift = 1 : i64} {
  graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
  func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
    %w = graph.read @wte : tensor<11x6xf32>
    %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
    %y = graph.contract "btc,vc->btv" %x, %w : (tensor<4x8x6xf32>, tensor<11x6xf32>) -> tensor<4x8x11xf32>
    %sum, %count, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
    return %sum, %count : tensor<f32>, tensor<f32>
  }
}

// Logits of two positions at once: no single answer.
//--- tables.mlir
graph.state @wte : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "wte", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%ids: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, 0>, graph.name = "ids", graph.role = "tokens"}, %labels: tensor<4x8xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @wte : tensor<11x6xf32>
  %x = graph.embedding %w, %ids : (tensor<11x6xf32>, tensor<4x8xi64>) -> tensor<4x8x6xf32>
  %former = graph.pad %x [0, 1, 0] [0, 0, 0] 0.0 : (tensor<4x8x6xf32>) -> tensor<4x9x6xf32>
  %before = graph.slice %former [0, 0, 0] [1, 1, 1] : (tensor<4x9x6xf32>) -> tensor<4x8x6xf32>
  %both = graph.add %x, %before : (tensor<4x8x6xf32>, tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
  %y = graph.contract "btc,vc->btv" %both, %w : (tensor<4x8x6xf32>, tensor<11x6xf32>) -> tensor<4x8x11xf32>
  %sum, %count, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<4x8x11xf32>, tensor<4x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// No tokens, nothing to decide.
//--- data.mlir
graph.state @w : tensor<11x6xf32> {decay = true, init = #graph.init<normal, 0.0, 1.0>, role = #graph<role parameter>, saved_name = "w", saved_shape = array<i64: 11, 6>, trainable = true}
func.func @loss(%x: tensor<4x6xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<4xi64> {graph.bounds = array<i64: 0, 11, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<11x6xf32>
  %y = graph.contract "bc,vc->bv" %x, %w : (tensor<4x6xf32>, tensor<11x6xf32>) -> tensor<4x11xf32>
  %sum, %count, %lse = graph.cross_entropy %y, %labels : (tensor<4x11xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
