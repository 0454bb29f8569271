// RUN: dtcc-opt %s -split-input-file -verify-diagnostics --spmd-verify

// V1: the axis is not of the mesh.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
// expected-error@+1 {{axis must be one of the mesh, got: tp}}
func.func @step(%x: !spmd.tensor<8xf32, @mesh, [{tp}]>) -> !spmd.tensor<8xf32, @mesh, [{tp}]> {
  return %x : !spmd.tensor<8xf32, @mesh, [{tp}]>
}

// -----

// V1: 7 cells do not divide by 2, and are not padded.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
// expected-error@+1 {{padded sizes must divide by the axes that split them}}
func.func @step(%x: !spmd.tensor<7xf32, @mesh, [{dp}]>) -> !spmd.tensor<7xf32, @mesh, [{dp}]> {
  return %x : !spmd.tensor<7xf32, @mesh, [{dp}]>
}

// -----

// V2: rows of the operand and of the result are one factor.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
func.func @step(%x: !spmd.tensor<8x4xf32, @mesh, [{dp},{}]>, %w: !spmd.tensor<4x6xf32, @mesh, [{},{}]>) -> !spmd.tensor<8x6xf32, @mesh, [{},{}]> {
  // expected-error@+1 {{result #0 dimension 0 must lie like the other dimensions of its factor}}
  %y = graph.contract "bk,kn->bn" %x, %w : (!spmd.tensor<8x4xf32, @mesh, [{dp},{}]>, !spmd.tensor<4x6xf32, @mesh, [{},{}]>) -> !spmd.tensor<8x6xf32, @mesh, [{},{}]>
  return %y : !spmd.tensor<8x6xf32, @mesh, [{},{}]>
}

// -----

// V2: an axis cannot split two factors of an op.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
func.func @step(%x: !spmd.tensor<8x4xf32, @mesh, [{dp},{}]>, %w: !spmd.tensor<6x4xf32, @mesh, [{dp},{}]>) -> !spmd.tensor<8x6xf32, @mesh, [{dp},{}]> {
  // expected-error@+1 {{result #0 dimension 1 must lie like the other dimensions of its factor}}
  %y = graph.contract "bk,nk->bn" %x, %w : (!spmd.tensor<8x4xf32, @mesh, [{dp},{}]>, !spmd.tensor<6x4xf32, @mesh, [{dp},{}]>) -> !spmd.tensor<8x6xf32, @mesh, [{dp},{}]>
  return %y : !spmd.tensor<8x6xf32, @mesh, [{dp},{}]>
}

// -----

// V3: a product summed over a split dimension is partial.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
func.func @step(%x: !spmd.tensor<8x4xf32, @mesh, [{},{tp}]>, %w: !spmd.tensor<4x6xf32, @mesh, [{tp},{}]>) -> !spmd.tensor<8x6xf32, @mesh, [{},{}]> {
  // expected-error@+1 {{result #0 must lie as [{},{}] partial(sum {tp})}}
  %y = graph.contract "bk,kn->bn" %x, %w : (!spmd.tensor<8x4xf32, @mesh, [{},{tp}]>, !spmd.tensor<4x6xf32, @mesh, [{tp},{}]>) -> !spmd.tensor<8x6xf32, @mesh, [{},{}]>
  return %y : !spmd.tensor<8x6xf32, @mesh, [{},{}]>
}

// -----

// V3: relu of a sum is not the sum of relus.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
func.func @step(%x: !spmd.tensor<8xf32, @mesh, [{}], partial(sum {tp})>) -> !spmd.tensor<8xf32, @mesh, [{}], partial(sum {tp})> {
  // expected-error@+1 {{operand #0 must not be partial: the op is not linear in it}}
  %y = graph.relu %x : !spmd.tensor<8xf32, @mesh, [{}], partial(sum {tp})>
  return %y : !spmd.tensor<8xf32, @mesh, [{}], partial(sum {tp})>
}

// -----

// V3: a partial sum plus a whole value would count the whole value once a rank.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
func.func @step(%x: !spmd.tensor<8xf32, @mesh, [{}], partial(sum {tp})>, %b: !spmd.tensor<8xf32, @mesh, [{}]>) -> !spmd.tensor<8xf32, @mesh, [{}], partial(sum {tp})> {
  // expected-error@+1 {{operand #1 must lie as [{}] partial(sum {tp})}}
  %y = graph.add %x, %b : (!spmd.tensor<8xf32, @mesh, [{}], partial(sum {tp})>, !spmd.tensor<8xf32, @mesh, [{}]>) -> !spmd.tensor<8xf32, @mesh, [{}], partial(sum {tp})>
  return %y : !spmd.tensor<8xf32, @mesh, [{}], partial(sum {tp})>
}

// -----

// An op that wants a dimension whole.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
func.func @step(%x: !spmd.tensor<8x4xf32, @mesh, [{},{tp}]>) -> !spmd.tensor<8x4xf32, @mesh, [{},{tp}]> {
  // expected-error@+1 {{factor 1 cannot be split: the op has no local form for it in this version}}
  %y = graph.softmax %x [1] : !spmd.tensor<8x4xf32, @mesh, [{},{tp}]>
  return %y : !spmd.tensor<8x4xf32, @mesh, [{},{tp}]>
}

// -----

// V4: other micro-batches are out of reach.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>]
func.func @step(%x: !spmd.tensor<8xf32, @mesh, [{mb}]>) -> !spmd.tensor<8xf32, @mesh, [{}]> {
  // expected-error@+1 {{has no way between its layouts}}
  %y = spmd.reshard %x : !spmd.tensor<8xf32, @mesh, [{mb}]> -> !spmd.tensor<8xf32, @mesh, [{}]>
  return %y : !spmd.tensor<8xf32, @mesh, [{}]>
}

// -----

// V6: exp of zero is one: the sum over padded cells would be wrong.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
graph.state @w : tensor<7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 7>, init = #graph.init<zero>, spmd.layout = !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>}
func.func @step() -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})> {
  %w = graph.read @w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %t = graph.tanh %w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // Of tanh it is zero.
  %s = graph.reduce sum %t [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  %e = graph.exp %w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: dimension 0 of size 7}}
  %y = graph.reduce sum %e [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V6: a choice between zeros is zero, whatever chooses; between zero and a number it may be the number.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
graph.state @w : tensor<7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 7>, init = #graph.init<zero>, spmd.layout = !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>}
func.func @step() -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})> {
  %w = graph.read @w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %e = graph.exp %w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %c = graph.compare le %w, %e : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xi1, @mesh, [{tp}], pad [8]>
  %t = graph.tanh %w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %z = graph.select %c, %w, %t : (!spmd.tensor<7xi1, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %s = graph.reduce sum %z [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  %f = graph.select %c, %w, %e : (!spmd.tensor<7xi1, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: dimension 0 of size 7}}
  %y = graph.reduce sum %f [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V6: a quotient of zeros is not a number, though it is linear above.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
graph.state @w : tensor<7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 7>, init = #graph.init<zero>, spmd.layout = !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>}
func.func @step() -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})> {
  %w = graph.read @w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %e = graph.div %w, %w : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: dimension 0 of size 7}}
  %y = graph.reduce sum %e [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V6: what is positive, as exp is, may be divided by; not a difference.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
graph.state @w : tensor<7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 7>, init = #graph.init<zero>, spmd.layout = !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>}
func.func @step() -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})> {
  %w = graph.read @w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %p = graph.exp %w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %q = graph.div %p, %p : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %d = graph.div %w, %q : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %s = graph.reduce sum %d [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  %n = graph.neg %q : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %f = graph.add %n, %q : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %e = graph.div %w, %f : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: dimension 0 of size 7}}
  %y = graph.reduce sum %e [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V6: a splat fills its padding with its value; only that of zeros may be summed.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
func.func @step() -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})> {
  %z = graph.constant dense<0.0> : tensor<7xf32> : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %s = graph.reduce sum %z [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  %n = graph.constant dense<0> : tensor<7xi64> : !spmd.tensor<7xi64, @mesh, [{tp}], pad [8]>
  %c = graph.constant dense<1.0> : tensor<7xf32> : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // Products with zeros are zero, and squares of zeros.
  %p = graph.contract "a,a->" %z, %c : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  %q = graph.contract "a,a->" %z, %z : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: dimension 0 of size 7}}
  %y = graph.reduce sum %c [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V6: so does a splat that is brought to a padded layout.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
func.func @step() -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})> {
  %c = graph.constant dense<1.0> : tensor<7xf32> : !spmd.tensor<7xf32, @mesh, [{}], pad [8]>
  %r = spmd.reshard %c : !spmd.tensor<7xf32, @mesh, [{}], pad [8]> -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: dimension 0 of size 7}}
  %y = graph.reduce sum %r [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V6: a zero plus one is not zero, though a state's padding is.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
graph.state @w : tensor<7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 7>, init = #graph.init<zero>, spmd.layout = !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>}
func.func @step() -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})> {
  %w = graph.read @w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %c = graph.constant dense<1.0> : tensor<7xf32> : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %h = graph.add %w, %c : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: dimension 0 of size 7}}
  %y = graph.reduce sum %h [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V6: the difference of two numbers is zero if these are equal, which is not known of exp and of a number that is broadcast.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
graph.state @w : tensor<7xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 7>, init = #graph.init<zero>, spmd.layout = !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>}
graph.state @b : tensor<f32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "b", saved_shape = array<i64>, init = #graph.init<zero>, spmd.layout = !spmd.tensor<f32, @mesh, []>}
func.func @step() -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})> {
  %w = graph.read @w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %b = graph.read @b : !spmd.tensor<f32, @mesh, []>
  %e = graph.exp %w : !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %all = graph.broadcast %b [] : (!spmd.tensor<f32, @mesh, []>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %same = graph.sub %e, %e : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  %s = graph.reduce sum %same [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  %d = graph.sub %e, %all : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>, !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>
  // expected-error@+1 {{sums over padded cells that are not known to be zero: dimension 0 of size 7}}
  %y = graph.reduce sum %d [0] : (!spmd.tensor<7xf32, @mesh, [{tp}], pad [8]>) -> !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
  return %y : !spmd.tensor<f32, @mesh, [], partial(sum {tp})>
}

// -----

// V7: a state is read as it lies.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
graph.state @w : tensor<8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 8>, init = #graph.init<zero>, spmd.layout = !spmd.tensor<8xf32, @mesh, [{tp}]>}
func.func @step() -> !spmd.tensor<8xf32, @mesh, [{}]> {
  // expected-error@+1 {{must lie as @w does}}
  %w = graph.read @w : !spmd.tensor<8xf32, @mesh, [{}]>
  return %w : !spmd.tensor<8xf32, @mesh, [{}]>
}
