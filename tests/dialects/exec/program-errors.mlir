// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

exec.program @step mesh @mesh {
  // expected-error@+1 {{must name an exec.arena, got: @nothing}}
  exec.buffer @x : 64 in @nothing
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  // expected-error@+1 {{must end inside its arena of 64 bytes, got: 96}}
  exec.buffer @x : 64 in @a at 32
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  // expected-error@+1 {{must end inside its buffer of 64 bytes, got: 68}}
  %v = exec.view @x[4] : memref<16xf32>
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  // expected-error@+1 {{offset must be a multiple of the element size, got: 2}}
  %v = exec.view @x[2] : memref<4xf32>
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  // expected-error@+1 {{block dimension must be below the rank 1, got: 1}}
  %v = exec.view @x[0] block 1 of @dp : memref<4xf32>
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @p {
    %v = exec.view @x[0] : memref<4xf32>
    // expected-error@+1 {{must name an op of runtime/abi/LibraryOps.def, got: "matmull"}}
    exec.library "matmull" ins(%v : memref<4xf32>) outs(%v : memref<4xf32>) []
  }
}

// -----

exec.program @step mesh @mesh {
  exec.phase @p {
    // expected-error-re@+1 {{collective must be one of all_reduce, all_gather, {{.*}}, got: all_reduces}}
    exec.collective all_reduces sum on @dp
  }
}

// -----

exec.program @step mesh @mesh {
  exec.phase @p {
    // expected-error@+1 {{reduction must be one of sum, max, min, got: mean}}
    exec.collective all_reduce mean on @dp
  }
}

// -----

exec.program @step mesh @mesh {
  exec.phase @p {
    // expected-error@+1 {{attribute 'kind' failed to satisfy constraint: a row of Collectives.def}}
    "exec.collective"() <{communicator = @dp, kind = 99 : i32, reduction = 0 : i32, operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> ()
  }
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @p repeat 2 {
    %v = exec.view @x[0] : memref<4xf32>
    // expected-error@+1 {{slot must be one of the 2 of its phase, got: 2}}
    exec.collective all_reduce sum on @dp slot 2 ins(%v : memref<4xf32>) outs(%v : memref<4xf32>)
  }
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @p {
    %v = exec.view @x[0] : memref<4xf32, strided<[2]>>
    // expected-error@+1 {{views must be dense, got: 'memref<4xf32, strided<[2]>>'}}
    exec.collective all_reduce sum on @dp ins(%v : memref<4xf32, strided<[2]>>) outs(%v : memref<4xf32, strided<[2]>>)
  }
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @p {
    %v = exec.view @x[0] : memref<4xf32>
    %w = exec.view @x[0] : memref<2x2xf32>
    // expected-error@+1 {{both sides must have one shape and element type}}
    exec.copy ins(%v : memref<4xf32>) outs(%w : memref<2x2xf32>)
  }
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @p {
    %v = exec.view @x[0] : memref<1x2x2xf32>
    %finite = exec.view @x[32] : memref<i32>
    // expected-error@+1 {{cannot have a predicate: libraries of products read none, got: "matmul"}}
    exec.library "matmul" ins(%v, %v, %finite : memref<1x2x2xf32>, memref<1x2x2xf32>, memref<i32>) outs(%v : memref<1x2x2xf32>) [0, 0] {predicated}
  }
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @p {
    %v = exec.view @x[0] : memref<16xf32>
    // expected-error@+1 {{must have one i32 as last input, its predicate}}
    exec.library "sum_squares" ins(%v : memref<16xf32>) outs(%v : memref<16xf32>) [0] {predicated}
  }
}

// -----

exec.program @step mesh @mesh {
  // expected-error@+1 {{must have a slot for each micro-batch, got none}}
  exec.slot_order @order []
}

// -----

exec.program @step mesh @mesh {
  // expected-error@+1 {{slot must be at least 0, got: -1}}
  exec.slot_order @order [0, -1]
}

// -----

exec.program @step mesh @mesh {
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  // expected-error@+1 {{must follow an exec.slot_order, got: @nothing}}
  %x = exec.view @x[0 + slot * 32 by @nothing] : memref<4xf32>
}

// -----

exec.program @step mesh @mesh {
  exec.slot_order @order [0, 1]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  // expected-error@+1 {{must have a slot stride and no number of slots to follow an order, got: @order}}
  %x = exec.view @x[0 by @order] : memref<4xf32>
}
