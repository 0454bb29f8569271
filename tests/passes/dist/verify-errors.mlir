// RUN: dtcc-opt %s -split-input-file -verify-diagnostics --dist-verify

// V1: the axis is not of the mesh.
dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
// expected-error@+1 {{axis must be one of the mesh, got: tp}}
func.func @step(%x: !dist.tensor<8xf32, @mesh, [{tp}]>) -> !dist.tensor<8xf32, @mesh, [{tp}]> {
  return %x : !dist.tensor<8xf32, @mesh, [{tp}]>
}

// -----

// V1: 7 cells do not divide by 2, and are not padded.
dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
// expected-error@+1 {{padded sizes must divide by the axes that split them}}
func.func @step(%x: !dist.tensor<7xf32, @mesh, [{dp}]>) -> !dist.tensor<7xf32, @mesh, [{dp}]> {
  return %x : !dist.tensor<7xf32, @mesh, [{dp}]>
}

// -----

// V2: rows of the operand and of the result are one factor.
dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
func.func @step(%x: !dist.tensor<8x4xf32, @mesh, [{dp},{}]>, %w: !dist.tensor<4x6xf32, @mesh, [{},{}]>) -> !dist.tensor<8x6xf32, @mesh, [{},{}]> {
  // expected-error@+1 {{result #0 dimension 0 must lie like the other dimensions of its factor}}
  %y = graph.contract "bk,kn->bn" %x, %w : (!dist.tensor<8x4xf32, @mesh, [{dp},{}]>, !dist.tensor<4x6xf32, @mesh, [{},{}]>) -> !dist.tensor<8x6xf32, @mesh, [{},{}]>
  return %y : !dist.tensor<8x6xf32, @mesh, [{},{}]>
}

// -----

// V2: an axis cannot split two factors of an op.
dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
func.func @step(%x: !dist.tensor<8x4xf32, @mesh, [{dp},{}]>, %w: !dist.tensor<6x4xf32, @mesh, [{dp},{}]>) -> !dist.tensor<8x6xf32, @mesh, [{dp},{}]> {
  // expected-error@+1 {{result #0 dimension 1 must lie like the other dimensions of its factor}}
  %y = graph.contract "bk,nk->bn" %x, %w : (!dist.tensor<8x4xf32, @mesh, [{dp},{}]>, !dist.tensor<6x4xf32, @mesh, [{dp},{}]>) -> !dist.tensor<8x6xf32, @mesh, [{dp},{}]>
  return %y : !dist.tensor<8x6xf32, @mesh, [{dp},{}]>
}

// -----

// V3: a product summed over a split dimension is partial.
dist.mesh @mesh [#dist.axis<"tp", 2, rank>]
func.func @step(%x: !dist.tensor<8x4xf32, @mesh, [{},{tp}]>, %w: !dist.tensor<4x6xf32, @mesh, [{tp},{}]>) -> !dist.tensor<8x6xf32, @mesh, [{},{}]> {
  // expected-error@+1 {{result #0 must lie as [{},{}] partial(sum {tp})}}
  %y = graph.contract "bk,kn->bn" %x, %w : (!dist.tensor<8x4xf32, @mesh, [{},{tp}]>, !dist.tensor<4x6xf32, @mesh, [{tp},{}]>) -> !dist.tensor<8x6xf32, @mesh, [{},{}]>
  return %y : !dist.tensor<8x6xf32, @mesh, [{},{}]>
}

// -----

// V3: relu of a sum is not the sum of relus.
dist.mesh @mesh [#dist.axis<"tp", 2, rank>]
func.func @step(%x: !dist.tensor<8xf32, @mesh, [{}], partial(sum {tp})>) -> !dist.tensor<8xf32, @mesh, [{}], partial(sum {tp})> {
  // expected-error@+1 {{operand #0 must not be partial: the op is not linear in it}}
  %y = graph.relu %x : !dist.tensor<8xf32, @mesh, [{}], partial(sum {tp})>
  return %y : !dist.tensor<8xf32, @mesh, [{}], partial(sum {tp})>
}

// -----

// V3: a partial sum plus a whole value would count the whole value once a rank.
dist.mesh @mesh [#dist.axis<"tp", 2, rank>]
func.func @step(%x: !dist.tensor<8xf32, @mesh, [{}], partial(sum {tp})>, %b: !dist.tensor<8xf32, @mesh, [{}]>) -> !dist.tensor<8xf32, @mesh, [{}], partial(sum {tp})> {
  // expected-error@+1 {{operand #1 must lie as [{}] partial(sum {tp})}}
  %y = graph.add %x, %b : (!dist.tensor<8xf32, @mesh, [{}], partial(sum {tp})>, !dist.tensor<8xf32, @mesh, [{}]>) -> !dist.tensor<8xf32, @mesh, [{}], partial(sum {tp})>
  return %y : !dist.tensor<8xf32, @mesh, [{}], partial(sum {tp})>
}

// -----

// An op that wants a dimension whole.
dist.mesh @mesh [#dist.axis<"tp", 2, rank>]
func.func @step(%x: !dist.tensor<8x4xf32, @mesh, [{},{tp}]>) -> !dist.tensor<8x4xf32, @mesh, [{},{tp}]> {
  // expected-error@+1 {{factor 1 cannot be split: the op has no local form for it in this version}}
  %y = graph.softmax %x [1] : !dist.tensor<8x4xf32, @mesh, [{},{tp}]>
  return %y : !dist.tensor<8x4xf32, @mesh, [{},{tp}]>
}

// -----

// V4: other micro-batches are out of reach.
dist.mesh @mesh [#dist.axis<"mb", 2, time>]
func.func @step(%x: !dist.tensor<8xf32, @mesh, [{mb}]>) -> !dist.tensor<8xf32, @mesh, [{}]> {
  // expected-error@+1 {{has no way between its layouts}}
  %y = dist.reshard %x : !dist.tensor<8xf32, @mesh, [{mb}]> -> !dist.tensor<8xf32, @mesh, [{}]>
  return %y : !dist.tensor<8xf32, @mesh, [{}]>
}

// -----

// V6: exp of zero is one: the sum over padded cells would be wrong.
dist.mesh @mesh [#dist.axis<"tp", 2, rank>]
graph.state @w : tensor<7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 7>, init = #graph.init<zero>, dist.layout = !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>}
func.func @step() -> !dist.tensor<f32, @mesh, [], partial(sum {tp})> {
  %w = graph.read @w : !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %t = graph.tanh %w : !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // Of tanh it is zero.
  %s = graph.reduce sum %t [0] : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<f32, @mesh, [], partial(sum {tp})>
  %e = graph.exp %w : !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: factor 0 of size 7}}
  %y = graph.reduce sum %e [0] : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !dist.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V6: a quotient of zeros is not a number, though it is linear above.
dist.mesh @mesh [#dist.axis<"tp", 2, rank>]
graph.state @w : tensor<7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 7>, init = #graph.init<zero>, dist.layout = !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>}
func.func @step() -> !dist.tensor<f32, @mesh, [], partial(sum {tp})> {
  %w = graph.read @w : !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %e = graph.div %w, %w : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>, !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: factor 0 of size 7}}
  %y = graph.reduce sum %e [0] : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !dist.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V6: what is positive, as exp is, may be divided by; not a difference.
dist.mesh @mesh [#dist.axis<"tp", 2, rank>]
graph.state @w : tensor<7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 7>, init = #graph.init<zero>, dist.layout = !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>}
func.func @step() -> !dist.tensor<f32, @mesh, [], partial(sum {tp})> {
  %w = graph.read @w : !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %p = graph.exp %w : !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %q = graph.div %p, %p : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>, !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %d = graph.div %w, %q : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>, !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %s = graph.reduce sum %d [0] : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<f32, @mesh, [], partial(sum {tp})>
  %n = graph.neg %q : !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %f = graph.add %n, %q : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>, !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %e = graph.div %w, %f : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>, !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: factor 0 of size 7}}
  %y = graph.reduce sum %e [0] : (!dist.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !dist.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !dist.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V7: a state is read as it lies.
dist.mesh @mesh [#dist.axis<"tp", 2, rank>]
graph.state @w : tensor<8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 8>, init = #graph.init<zero>, dist.layout = !dist.tensor<8xf32, @mesh, [{tp}]>}
func.func @step() -> !dist.tensor<8xf32, @mesh, [{}]> {
  // expected-error@+1 {{must lie as @w does}}
  %w = graph.read @w : !dist.tensor<8xf32, @mesh, [{}]>
  return %w : !dist.tensor<8xf32, @mesh, [{}]>
}
