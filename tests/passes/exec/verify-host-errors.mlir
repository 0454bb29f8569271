// RUN: dtcc-opt %s -exec-verify -split-input-file -verify-diagnostics

// A copy between other strides is a kernel, which would wait for the link at each of its reads.
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 16 x f32
exec.program @step mesh @mesh {
  exec.arena @host : 64 host
  exec.arena @state : 64
  exec.buffer @params.0 : 64 in @host at 0 persistent {bucket = @params.0}
  exec.buffer @y : 64 in @state at 0
  exec.phase @p {
    %x = exec.view @params.0[0] : memref<4x4xf32>
    %y = exec.view @y[0] : memref<4x4xf32, strided<[1, 4]>>
    // expected-error@+1 {{must not touch memory of the host, which updates and copies alone do: buffer @params.0 of arena @host}}
    exec.copy ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32, strided<[1, 4]>>)
  }
}

// -----

// A library op that is no update.
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 16 x f32
exec.program @step mesh @mesh {
  exec.arena @host : 64 host
  exec.arena @state : 64
  exec.buffer @params.0 : 64 in @host at 0 persistent {bucket = @params.0}
  exec.buffer @y : 4 in @state at 0
  exec.phase @p {
    %x = exec.view @params.0[0] : memref<16xf32>
    %y = exec.view @y[0] : memref<f32>
    // expected-error@+1 {{must not touch memory of the host, which updates and copies alone do: buffer @params.0 of arena @host}}
    exec.library "sum_squares" ins(%x : memref<16xf32>) outs(%y : memref<f32>) [0]
  }
}

// -----

// Nothing is made there, what waits there is copied.
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
exec.program @step mesh @mesh {
  exec.arena @host : 64 host
  exec.buffer @x : 64 in @host at 0
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    // expected-error@+1 {{must not touch memory of the host, which updates and copies alone do: buffer @x of arena @host}}
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
}

// -----

// What the host writes in every step goes to the device.
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket scalar @scalars : 16 x f32
exec.program @step mesh @mesh {
  exec.arena @host : 64 host
  exec.buffer @scalars : 64 in @host at 0 persistent {bucket = @scalars}
  %lr = exec.view @scalars[0] : memref<f32>
  // expected-error@+1 {{must lie in memory of the device, got buffer @scalars}}
  exec.scalar lr %lr : memref<f32>
  exec.phase @p {
  }
}

// -----

// Two updates of one bucket on two streams race there as anywhere.
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 16 x f32
exec.program @step mesh @mesh {
  exec.arena @host : 64 host
  exec.arena @state : 128
  exec.buffer @params.0 : 64 in @host at 0 persistent {bucket = @params.0}
  exec.buffer @grads : 64 in @state at 0 persistent
  exec.buffer @cell : 8 in @state at 64 persistent
  exec.phase @p {
    %p = exec.view @params.0[0] : memref<16xf32>
    %g = exec.view @grads[0] : memref<16xf32>
    %c = exec.view @cell[0] : memref<f32>
    %n = exec.view @cell[0] : memref<i64>
    // expected-note@+1 {{the other command}}
    exec.library "sgd" ins(%g, %c, %c, %n : memref<16xf32>, memref<f32>, memref<f32>, memref<i64>) outs(%p : memref<16xf32>) [@params.0, unit, 0.0, 0.0, 0] {updates}
    // expected-error@+1 {{must wait for a command of another stream: one writes what the other uses, bytes 0 to 64 of @host}}
    exec.library "sgd" ins(%g, %c, %c, %n : memref<16xf32>, memref<f32>, memref<f32>, memref<i64>) outs(%p : memref<16xf32>) [@params.0, unit, 0.0, 0.0, 0] {updates, stream = 1}
  }
}

// -----

// What comes back waits until it is there.
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
exec.program @step mesh @mesh {
  exec.arena @host : 64 host
  exec.arena @activations : 128
  exec.buffer @kept.host : 64 in @host at 0
  exec.buffer @kept : 64 in @activations at 0
  exec.buffer @kept.back0 : 64 in @activations at 64
  exec.phase @p {
    %h = exec.view @kept.host[0] : memref<64xi8>
    %k = exec.view @kept[0] : memref<64xi8>
    %b = exec.view @kept.back0[0] : memref<64xi8>
    %x = exec.view @kept[0] : memref<16xf32>
    %made = exec.fill 0.0 : f32 outs(%x : memref<16xf32>) -> !exec.event
    // expected-note@+1 {{the other command}}
    exec.copy ins(%k : memref<64xi8>) outs(%h : memref<64xi8>) after(%made) {stream = 2}
    // expected-error@+1 {{must wait for a command of another stream: one writes what the other uses, bytes 0 to 64 of @host}}
    exec.copy ins(%h : memref<64xi8>) outs(%b : memref<64xi8>) after(%made) {stream = 3}
  }
}
