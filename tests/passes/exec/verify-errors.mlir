// RUN: dtcc-opt %s -exec-verify -split-input-file -verify-diagnostics

// Two buffers in use at once.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.arena @a : 128
  exec.buffer @x : 64 in @a at 0
  // expected-error@+1 {{must not share bytes with @x: both are in use at command 1}}
  exec.buffer @y : 64 in @a at 32
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    %y = exec.view @y[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
    exec.copy ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
  }
}

// -----

// Read before anything was written.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.arena @a : 128
  exec.buffer @x : 64 in @a at 0
  exec.buffer @y : 64 in @a at 64
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    %y = exec.view @y[0] : memref<16xf32>
    // expected-error@+1 {{must not read what nobody wrote: buffer @x}}
    exec.copy ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
}

// -----

// The second rank's block lies behind the end.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a at 0
  exec.phase @p {
    // expected-error@+1 {{must stay inside its buffer of 64 bytes in every slot and on every rank, got: 128}}
    %x = exec.view @x[0] block 0 of @dp : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
}

// -----

// The second micro-batch's slot too.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>]
exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a at 0
  exec.phase @p repeat 2 {
    // expected-error@+1 {{must stay inside its buffer of 64 bytes in every slot and on every rank, got: 96}}
    %x = exec.view @x[0 + slot * 32] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
}

// -----

// Two streams, one writes what the other reads, and nobody waits.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a at 0 persistent
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    // expected-note@+1 {{the other command}}
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
    // expected-error@+1 {{must wait for a command of another stream: one writes what the other uses, bytes 0 to 64 of @a}}
    exec.collective all_reduce sum on @dp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>) {stream = 1 : i64}
  }
}

// -----

// With an event the same is right.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a at 0 persistent
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    %filled = exec.fill 0.0 : f32 outs(%x : memref<16xf32>) -> !exec.event
    exec.collective all_reduce sum on @dp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>) after(%filled) {stream = 1 : i64}
  }
}

// -----

// A matrix to which its transpose is added, both in one buffer.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a at 0 persistent
  exec.phase @p {
    %x = exec.view @x[0] : memref<4x4xf32>
    %t = exec.view @x[0] : memref<4x4xf32, strided<[1, 4]>>
    // expected-error@+1 {{must read and write the cells of buffer @x in one order, got: 'memref<4x4xf32, strided<[1, 4]>>' and 'memref<4x4xf32>'}}
    exec.kernel @sum ins(%t : memref<4x4xf32, strided<[1, 4]>>) outs(%x : memref<4x4xf32>) {accumulates = array<i1: true>}
  }
}

// -----

// In one order, whatever the shapes, the same is right.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a at 0 persistent
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    %t = exec.view @x[0] : memref<2x1x8xf32>
    exec.kernel @sum ins(%t : memref<2x1x8xf32>) outs(%x : memref<16xf32>) {accumulates = array<i1: true>}
  }
}

// -----

// Two orders for one group.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 128
  exec.buffer @x : 64 in @a at 0 persistent
  exec.buffer @y : 64 in @a at 64 persistent
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    %y = exec.view @y[0] : memref<16xf32>
    exec.collective all_reduce sum on @dp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>) {stream = 1 : i64}
    // expected-error@+1 {{must be on the stream of all collectives over @dp in this phase, 1, got: 0}}
    exec.collective all_reduce sum on @dp ins(%y : memref<16xf32>) outs(%y : memref<16xf32>)
  }
}

// -----

// expected-error@+1 {{must name an spmd.mesh, got: @mesh}}
exec.program @step mesh @mesh {
}

// -----

// A collective over nobody.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.arena @a : 128
  exec.buffer @x : 64 in @a at 0
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
    // expected-error@+1 {{must name an exec.communicator, got: @dp}}
    exec.collective all_reduce sum on @dp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}

// -----

// More runs than a program lists.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  // expected-error@+1 {{must repeat at most 4194304 times, got: 2147483648}}
  exec.phase @p repeat 2147483648 {
  }
}

// -----

// The first term of a sum behind the second.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.arena @a : 192
  exec.buffer @x : 64 in @a at 0 persistent
  exec.buffer @y : 64 in @a at 64 persistent
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    %part = exec.view @y[4] : memref<f32>
    %whole = exec.view @y[0] : memref<16xf32>
    // expected-note@+1 {{what was added}}
    exec.library "sum_squares" ins(%x : memref<16xf32>) outs(%part : memref<f32>) [1] {updates}
    // expected-error@+1 {{must not overwrite what was added to buffer @y and nobody read}}
    exec.copy ins(%x : memref<16xf32>) outs(%whole : memref<16xf32>)
  }
}

// -----

// What was read since may be overwritten, and so may what lies beside it.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.arena @a : 192
  exec.buffer @x : 64 in @a at 0 persistent
  exec.buffer @y : 64 in @a at 64 persistent
  exec.phase @p {
    %x = exec.view @x[0] : memref<16xf32>
    %part = exec.view @y[4] : memref<f32>
    %beside = exec.view @y[8] : memref<14xf32>
    %some = exec.view @x[0] : memref<14xf32>
    %whole = exec.view @y[0] : memref<16xf32>
    exec.library "sum_squares" ins(%x : memref<16xf32>) outs(%part : memref<f32>) [1] {updates}
    exec.copy ins(%some : memref<14xf32>) outs(%beside : memref<14xf32>)
    exec.copy ins(%whole : memref<16xf32>) outs(%x : memref<16xf32>)
    exec.copy ins(%x : memref<16xf32>) outs(%whole : memref<16xf32>)
  }
}
