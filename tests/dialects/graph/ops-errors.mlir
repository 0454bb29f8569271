// RUN: dtcc-opt %s --split-input-file --verify-diagnostics

func.func @contract(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{spec must be of the form "ab,bc->ac", got: "ab->ac"}}
  %0 = graph.contract "ab->ac" %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @contract(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{lhs must have rank 3 by the spec, got: 2}}
  %0 = graph.contract "abd,bc->ac" %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @contract(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{operand #1 dimension 0 must have size 2, got: 3}}
  %0 = graph.contract "ba,bc->ac" %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @contract(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{a letter of one operand alone must stand in the result, got: 'a'}}
  %0 = graph.contract "ab,bc->c" %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @contract(%x: tensor<2x2xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{spec must not repeat a letter in one term, got: 'b' in "bb"}}
  %0 = graph.contract "bb,bc->c" %x, %y : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @add(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{requires the same shape for all operands and results}}
  %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be static tensor, but got 'tensor<?xf32>'}}
  %0 = graph.neg %x : tensor<?xf32>
  return
}

// -----

func.func @reduce(%x: tensor<2x3xf32>) {
  // expected-error @below {{dims must be strictly increasing, got: 0 after 1}}
  %0 = graph.reduce sum %x [1, 0] : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce(%x: tensor<2x3xf32>) {
  // expected-error @below {{result #0 must have rank 1, got: 0}}
  %0 = graph.reduce sum %x [1] : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @below {{permutation must name every dimension once, got twice: 1}}
  %0 = graph.transpose %x [1, 1] : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>) {
  // expected-error @below {{operand #0 dimension 1 must have size 4, got: 3}}
  %0 = graph.broadcast %x [0, 1] : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @below {{must keep the number of cells}}
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @slice(%x: tensor<2x3xf32>) {
  // expected-error @below {{must read cells of [0, 3) of dimension 1, got: 1 to 3}}
  %0 = graph.slice %x [0, 1] [1, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice(%x: tensor<3xf32>) {
  // expected-error @below {{stride must not be 0 in dimension 0}}
  %0 = graph.slice %x [0] [0] : (tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @pad(%x: tensor<2xf32>) {
  // expected-error @below {{result dimension 0 must have size 4, got: 5}}
  %0 = graph.pad %x [1] [1] 0.0 : (tensor<2xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @concat(%x: tensor<2xf32>) {
  // expected-error @below {{result dimension 0 must have size 4, got: 3}}
  %0 = graph.concat %x, %x {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @stack(%x: tensor<2xf32>) {
  // expected-error @below {{dim must be in [0, 2), got: 2}}
  %0 = graph.stack %x, %x {dim = 2 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @unstack(%x: tensor<2x3xf32>) {
  // expected-error @below {{must have 2 results, got: 1}}
  %0 = graph.unstack %x {dim = 0 : i64} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @gather(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @below {{result #0 dimension 1 must have size 4, got: 3}}
  %0 = graph.gather %x, %i {axis = 1 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dropout(%x: tensor<2xf32>) {
  // expected-error @below {{ratio must be in [0, 1), got: 1}}
  %0 = graph.dropout %x {ratio = 1.0, id = 0 : i64} : tensor<2xf32>
  return
}

// -----

func.func @uniform(%x: tensor<2xf32>) {
  // expected-error @below {{offset_axes needs global_shape}}
  %0 = graph.uniform %x {id = 0 : i64, offset_axes = [["dp"]]} : tensor<2xf32>
  return
}

// -----

func.func @constant() {
  // expected-error @below {{value must have the shape and element type of the result}}
  %0 = graph.constant dense<1.0> : tensor<2xf32> : tensor<3xf32>
  return
}

// -----

func.func @norm(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @below {{dims must be the last dimensions, got first: 0 of 1 with rank 2}}
  %y, %r = graph.rms_norm %x, %s [0] {eps = 0.1} : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x5x3x4xf32>, %s: tensor<2x5xi32>) {
  // expected-error @below {{mask segments must be i64, got: 'i32'}}
  %o, %l = graph.attention %q, %q, %q mask(%s, %s) <segment = true> {scale = 1.0} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5xi32>, tensor<2x5xi32>) -> (tensor<2x5x3x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x5x3x4xf32>) {
  // expected-error @below {{mask needs 1 operands, got: 0}}
  %o, %l = graph.attention %q, %q, %q <key = true> {scale = 1.0} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @attention(%q: tensor<2x5x3x4xf32>) {
  // expected-error @below {{result #1 dimension 1 must have size 3, got: 5}}
  %o, %l = graph.attention %q, %q, %q <> {scale = 1.0} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> (tensor<2x5x3x4xf32>, tensor<2x5x3xf32>)
  return
}

// -----

func.func @rotary(%x: tensor<2x5x4xf32>, %c: tensor<5xf32>) {
  // expected-error @below {{pair dimension must have size 2, got: 4}}
  %y = graph.rotary %x, %c, %c [1] {pair = 2 : i64} : (tensor<2x5x4xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x5x4xf32>
  return
}

// -----

func.func @loss(%l: tensor<2x5xf32>, %t: tensor<2xi64>, %s: tensor<2xf32>) {
  // expected-error @below {{classes must be at most 5, got: 6}}
  %d = graph.cross_entropy_grad %l, %t, %s {classes = 6 : i64} : (tensor<2x5xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x5xf32>
  return
}

// -----

// expected-error @below {{saved_shape must have as many cells as the type, got: 5 and 6}}
graph.state @w : tensor<2x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 5>, init = #graph.init<zero>}

// -----

// expected-error @below {{needs a value or an init}}
graph.state @w : tensor<2x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 6>}

// -----

func.func @read() {
  // expected-error @below {{must name a graph.state, got: @nothing}}
  %0 = graph.read @nothing : tensor<2xf32>
  return
}

// -----

graph.state @w : tensor<2x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 6>, init = #graph.init<zero>}
func.func @update(%c: tensor<f32>, %g: tensor<3x2xf32>) {
  // expected-error @below {{type must be that of @w, 'tensor<2x3xf32>', got: 'tensor<3x2xf32>'}}
  %n = graph.update %c, (%g) to [@w] {optimizer = #graph.sgd<lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>, tensor<3x2xf32>) -> tensor<f32>
  return
}

// -----

// expected-error @below {{slots must have the saved shape and the element type of the state, got: 'tensor<2x3xf32>'}}
graph.state @w : tensor<2x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 6>, init = #graph.init<zero>, slots = [dense<0.0> : tensor<2x3xf32>]}

// -----

func.func @update(%c: tensor<f32>) {
  // expected-error @below {{optimizer must be #graph.adam, #graph.sgd or another optimizer of the dialect, got: "lion"}}
  %n = graph.update %c, () to [] {optimizer = "lion"} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @update(%c: tensor<f32>) {
  // expected-error @below {{an early update must have neither clip nor loss scale, which need all gradients}}
  %n = graph.update %c, () to [] {early, clip = 1.0 : f64, optimizer = #graph.sgd<lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @top_k(%x: tensor<2x3xf32>) {
  // expected-error @below {{must pick between 1 and 3 cells, got: 4}}
  %v, %i = graph.top_k %x : (tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return
}

// -----

func.func @grouped(%x: tensor<2x3xf32>, %w: tensor<4x5x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{the group must stand first in rhs or in the result and nowhere else, got: "ec,efc->ef"}}
  %0 = graph.grouped_contract "ec,efc->ef" rows "e" %x, %w, %i : (tensor<2x3xf32>, tensor<4x5x3xf32>, tensor<2xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @grouped(%x: tensor<2x3xf32>, %w: tensor<4x5x3xf32>, %i: tensor<7xi64>) {
  // expected-error @below {{operand #2 dimension 0 must have size 2, got: 7}}
  %0 = graph.grouped_contract "nc,efc->nf" rows "n" %x, %w, %i : (tensor<2x3xf32>, tensor<4x5x3xf32>, tensor<7xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @experts(%x: tensor<2x6xf32>, %i: tensor<2x2xi64>, %r: tensor<2x2xf32>, %in: tensor<4x3x3x6xf32>, %out: tensor<4x6x3xf32>) {
  // expected-error @below {{w_in must hold a gate and an up matrix, or one without a gate, got: 3}}
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<2x6xf32>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<4x3x3x6xf32>, tensor<4x6x3xf32>) -> (tensor<2x6xf32>, tensor<2x2x2x3xf32>)
  return
}

// -----

func.func @experts(%x: tensor<2x6xf32>, %i: tensor<2x2xi64>, %r: tensor<2x2xf32>, %in: tensor<4x1x3x6xf32>, %out: tensor<4x6x3xf32>) {
  // expected-error @below {{clamped_swish must have a gate and an up matrix, got: 1}}
  %y, %h = graph.experts %x, %i, %r, %in, %out {activation = #graph<expert_activation clamped_swish>} : (tensor<2x6xf32>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<4x1x3x6xf32>, tensor<4x6x3xf32>) -> (tensor<2x6xf32>, tensor<2x2x1x3xf32>)
  return
}

// -----

// Routing weights, sums of rows and gradients of matrices may be wider than rows, nothing else may, and nothing narrower.
func.func @experts(%x: tensor<2x6xbf16>, %i: tensor<2x2xi64>, %r: tensor<2x2xf32>, %in: tensor<4x2x3x6xf32>, %out: tensor<4x6x3xbf16>) {
  // expected-error @below {{element types must be equal, got: 'bf16' and 'f32'}}
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<2x6xbf16>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<4x2x3x6xf32>, tensor<4x6x3xbf16>) -> (tensor<2x6xbf16>, tensor<2x2x2x3xbf16>)
  return
}

// -----

func.func @experts(%x: tensor<2x6xf32>, %i: tensor<2x2xi64>, %r: tensor<2x2xbf16>, %in: tensor<4x2x3x6xf32>, %out: tensor<4x6x3xf32>) {
  // expected-error @below {{element types must be equal, got: 'f32' and 'bf16'}}
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<2x6xf32>, tensor<2x2xi64>, tensor<2x2xbf16>, tensor<4x2x3x6xf32>, tensor<4x6x3xf32>) -> (tensor<2x6xf32>, tensor<2x2x2x3xf32>)
  return
}

// -----

func.func @experts(%dy: tensor<2x6xbf16>, %i: tensor<2x2xi64>, %r: tensor<2x2xf32>, %in: tensor<4x2x3x6xbf16>, %out: tensor<4x6x3xbf16>, %h: tensor<2x2x2x3xbf16>) {
  // expected-error @below {{element types must be equal, got: 'bf16' and 'f32'}}
  %0:3 = graph.experts_grad %dy, %i, %r, %in, %out, %h : (tensor<2x6xbf16>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<4x2x3x6xbf16>, tensor<4x6x3xbf16>, tensor<2x2x2x3xbf16>) -> (tensor<2x6xf32>, tensor<2x2xf32>, tensor<2x2x2x3xbf16>)
  return
}

// -----

func.func @experts(%dy: tensor<2x6xf32>, %i: tensor<2x2xi64>, %r: tensor<2x2xf32>, %h: tensor<2x2x2x3xf32>) {
  // expected-error @below {{element types must be equal, got: 'f32' and 'bf16'}}
  %0:2 = graph.experts_weight_grad %dy, %dy, %i, %r, %h, %h : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x2xi64>, tensor<2x2xf32>, tensor<2x2x2x3xf32>, tensor<2x2x2x3xf32>) -> (tensor<4x2x3x6xbf16>, tensor<4x6x3xf32>)
  return
}

// -----

func.func @grouped(%x: tensor<2x3xf32>, %w: tensor<4x5x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{element types must be equal, got: 'f32' and 'bf16'}}
  %0 = graph.grouped_contract "nc,efc->nf" rows "n" %x, %w, %i : (tensor<2x3xf32>, tensor<4x5x3xf32>, tensor<2xi64>) -> tensor<2x5xbf16>
  return
}

// -----

func.func @grouped(%x: tensor<2x3xbf16>, %w: tensor<4x5x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{element types must be equal, got: 'bf16' and 'f32'}}
  %0 = graph.grouped_contract "nc,efc->nf" rows "n" %x, %w, %i : (tensor<2x3xbf16>, tensor<4x5x3xf32>, tensor<2xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @rounding(%x: tensor<2xbf16>) {
  // expected-error @below {{rounds a float to bf16 or f16, got: 'bf16' to 'f32'}}
  %0 = graph.cast %x {rounds} : (tensor<2xbf16>) -> tensor<2xf32>
  return
}
