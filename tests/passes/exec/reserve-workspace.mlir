// RUN: dtcc-opt %s -pass-pipeline="builtin.module(exec.program(exec-reserve-workspace,exec-plan-arena{alignment=256}),exec-verify)" | FileCheck %s

// What needs most of it says how much there is, for all ops. Arenas are as long as what they hold, in the target's steps.
spmd.mesh @mesh [#spmd.axis<"mb", 1, time>]
// CHECK-LABEL: exec.program @product
// CHECK: exec.arena @activations : 768
// CHECK: exec.arena @operations : 33554432
// CHECK: exec.buffer @operations.all : 33554432 in @operations at 0 persistent
exec.program @product mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @a : 64 in @activations persistent
  exec.buffer @b : 64 in @activations persistent
  exec.buffer @c : 64 in @activations
  exec.phase @microbatch {
    %a = exec.view @a[0] : memref<1x4x4xf32>
    %b = exec.view @b[0] : memref<1x4x4xf32>
    %c = exec.view @c[0] : memref<1x4x4xf32>
    exec.library "matmul" ins(%a, %b : memref<1x4x4xf32>, memref<1x4x4xf32>) outs(%c : memref<1x4x4xf32>) [0, 0]
  }
}

// A recurrent layer multiplies its states with its weights. A gru also stores what the reset gate leaves of them.
// CHECK-LABEL: exec.program @lstm
// CHECK: exec.arena @operations : 33554432
exec.program @lstm mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @x : 4096 in @activations persistent
  exec.buffer @w : 1024 in @activations persistent
  exec.buffer @s : 256 in @activations persistent
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<3x2x4x8xf32>
    %w = exec.view @w[0] : memref<4x8x8xf32>
    %s = exec.view @s[0] : memref<2x8xf32>
    %h = exec.view @x[0] : memref<3x2x8xf32>
    exec.library "recurrence" ins(%x, %w, %s, %s : memref<3x2x4x8xf32>, memref<4x8x8xf32>, memref<2x8xf32>, memref<2x8xf32>) outs(%h, %h, %x : memref<3x2x8xf32>, memref<3x2x8xf32>, memref<3x2x4x8xf32>) [2, 0, 0]
  }
}
// CHECK-LABEL: exec.program @gru
// CHECK: exec.arena @operations : 33554688
exec.program @gru mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @x : 4096 in @activations persistent
  exec.buffer @w : 1024 in @activations persistent
  exec.buffer @s : 256 in @activations persistent
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<3x2x3x8xf32>
    %w = exec.view @w[0] : memref<3x8x8xf32>
    %s = exec.view @s[0] : memref<2x8xf32>
    %h = exec.view @x[0] : memref<3x2x8xf32>
    exec.library "recurrence" ins(%x, %w, %s : memref<3x2x3x8xf32>, memref<3x8x8xf32>, memref<2x8xf32>) outs(%h, %x : memref<3x2x8xf32>, memref<3x2x3x8xf32>) [3, 0, 0]
  }
}

// An update works its factors out for each range of parameters with one decay and rate, four floats a range. There is no state
// here, and two ranges are planned beside those of states.
// CHECK-LABEL: exec.program @coded
// CHECK: exec.buffer @operations.all : 32 in @operations
exec.program @coded mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @p : 1024 in @activations persistent
  exec.buffer @m : 260 in @activations persistent
  exec.buffer @x : 64 in @activations persistent
  exec.phase @update {
    %p = exec.view @p[0] : memref<256xf32>
    %m = exec.view @m[0] : memref<260xi8>
    %x = exec.view @x[0] : memref<f32>
    exec.library "adamw8bit" ins(%p, %x, %x : memref<256xf32>, memref<f32>, memref<f32>) outs(%p, %m, %m : memref<256xf32>, memref<260xi8>, memref<260xi8>) [0, -1]
  }
}

// Sums of Adafactor by row and column have a double for each 128 cells of the share, and 8 MiB at most.
// CHECK-LABEL: exec.program @factor_squares
// CHECK: exec.buffer @operations.all : 256 in @operations
exec.program @factor_squares mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @g : 16384 in @activations persistent
  exec.buffer @s : 1024 in @activations persistent
  exec.buffer @x : 64 in @activations persistent
  exec.phase @update {
    %g = exec.view @g[0] : memref<4096xf32>
    %s = exec.view @s[0] : memref<201xf32>
    %x = exec.view @x[0] : memref<f32>
    exec.library "factor_squares" ins(%g, %x : memref<4096xf32>, memref<f32>) outs(%s : memref<201xf32>) [0, -1]
  }
}
// CHECK-LABEL: exec.program @large_factor_squares
// CHECK: exec.buffer @operations.all : 8388608 in @operations
exec.program @large_factor_squares mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @g : 4294967296 in @activations persistent
  exec.buffer @s : 1024 in @activations persistent
  exec.buffer @x : 64 in @activations persistent
  exec.phase @update {
    %g = exec.view @g[0] : memref<1073741824xf32>
    %s = exec.view @s[0] : memref<201xf32>
    %x = exec.view @x[0] : memref<f32>
    exec.library "factor_squares" ins(%g, %x : memref<1073741824xf32>, memref<f32>) outs(%s : memref<201xf32>) [0, -1]
  }
}

// Its direction needs the mean of the rows of each matrix, of which 201 factors are 100 at most.
// CHECK-LABEL: exec.program @adafactor_direction
// CHECK: exec.buffer @operations.all : 400 in @operations
exec.program @adafactor_direction mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @g : 16384 in @activations persistent
  exec.buffer @s : 1024 in @activations persistent
  exec.buffer @x : 64 in @activations persistent
  exec.phase @update {
    %g = exec.view @g[0] : memref<4096xf32>
    %s = exec.view @s[0] : memref<201xf32>
    %x = exec.view @x[0] : memref<f32>
    exec.library "adafactor_direction" ins(%g, %x, %x, %x, %s : memref<4096xf32>, memref<f32>, memref<f32>, memref<f32>, memref<201xf32>) outs(%s, %g : memref<201xf32>, memref<4096xf32>) [0, -1]
  }
}

// Ops that need none plan none.
// CHECK-LABEL: exec.program @merge
// CHECK-NOT: @operations
exec.program @merge mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @a : 64 in @activations persistent
  exec.buffer @b : 64 in @activations persistent
  exec.phase @microbatch {
    %a = exec.view @a[0] : memref<16xf32>
    %b = exec.view @b[0] : memref<16xf32>
    exec.copy ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  }
}

// A product that sums gradients of a bias besides has room for them.
// CHECK-LABEL: exec.program @sums
// CHECK: exec.arena @operations : 33554688
exec.program @sums mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @a : 64 in @activations persistent
  exec.buffer @b : 64 in @activations persistent
  exec.buffer @c : 64 in @activations
  exec.buffer @d : 16 in @activations
  exec.phase @microbatch {
    %a = exec.view @a[0] : memref<1x4x4xf32>
    %b = exec.view @b[0] : memref<1x4x4xf32>
    %c = exec.view @c[0] : memref<1x4x4xf32>
    %d = exec.view @d[0] : memref<4xf32>
    exec.library "matmul_epilogue" ins(%a, %b : memref<1x4x4xf32>, memref<1x4x4xf32>) outs(%c, %d : memref<1x4x4xf32>, memref<4xf32>) [0, 0, 0, 0]
  }
}

// A convolution and its gradients by the library: 32 MiB for its engines, a kernel in the order of the images and one for a
// gradient. Sums of the gradient in parts of its depth, 7 of 3600 cells, want less.
// CHECK-LABEL: exec.program @kernel
// CHECK: exec.arena @operations : 33557760
exec.program @kernel mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @x : 43200 in @activations persistent
  exec.buffer @y : 115200 in @activations persistent
  exec.buffer @k : 864 in @activations
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<4x1x3x1x30x30xf32>
    %y = exec.view @y[0] : memref<4x1x8x1x30x30xf32>
    %k = exec.view @k[0] : memref<1x8x3x1x3x3xf32>
    exec.library "convolution_kernel_grad" ins(%y, %x : memref<4x1x8x1x30x30xf32>, memref<4x1x3x1x30x30xf32>) outs(%k : memref<1x8x3x1x3x3xf32>) [1, 1, 1, 1, 1, 1, 0, 1, 1, 0]
  }
}

// Windows of one cell may be products of the library, which want no more.
// CHECK-LABEL: exec.program @pointwise
// CHECK: exec.arena @operations : 33554944
exec.program @pointwise mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @x : 256 in @activations persistent
  exec.buffer @k : 256 in @activations persistent
  exec.buffer @y : 256 in @activations
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<1x1x8x1x2x4xf32>
    %k = exec.view @k[0] : memref<1x8x8x1x1x1xf32>
    %y = exec.view @y[0] : memref<1x1x8x1x2x4xf32>
    exec.library "convolution" ins(%x, %k : memref<1x1x8x1x2x4xf32>, memref<1x8x8x1x1x1xf32>) outs(%y : memref<1x1x8x1x2x4xf32>) [1, 1, 1, 1, 1, 1, 0, 0, 0]
  }
}
// Images of halves with channels that do not divide by 8 are copied to such that do: 8 of 3 x 64 cells.
// CHECK-LABEL: exec.program @window
// CHECK: exec.arena @operations : 33556224
exec.program @window mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @x : 384 in @activations persistent
  exec.buffer @k : 144 in @activations persistent
  exec.buffer @y : 1024 in @activations
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<1x1x3x1x8x8xbf16>
    %k = exec.view @k[0] : memref<1x8x3x1x1x3xbf16>
    %y = exec.view @y[0] : memref<1x1x8x1x8x8xbf16>
    exec.library "convolution" ins(%x, %k : memref<1x1x3x1x8x8xbf16>, memref<1x8x3x1x1x3xbf16>) outs(%y : memref<1x1x8x1x8x8xbf16>) [1, 1, 1, 1, 1, 1, 0, 0, 1]
  }
}

// Two messages may be under way to one stage, of 200 bytes at most, and one to another.
// CHECK-LABEL: exec.program @stage
// CHECK-NOT: @operations
// CHECK: exec.arena @messages : 768
// CHECK: exec.buffer @messages.all : 768 in @messages at 0 persistent
exec.program @stage mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @a : 256 in @activations persistent
  exec.communicator @next over ["mb"]
  exec.phase @microbatch {
    %a = exec.view @a[0] : memref<50xf32>
    %b = exec.view @a[0] : memref<8xf32>
    exec.send to 1 on @next ins(%a : memref<50xf32>)
    exec.send to 1 on @next ins(%b : memref<8xf32>)
    exec.send to 0 on @next ins(%b : memref<8xf32>)
  }
}

// Products of rows that are added up, 6 of 8 floats, behind what sorts 6 rows to 2 matrices.
// CHECK-LABEL: exec.program @grouped
// CHECK-NOT: @workspace
// CHECK: exec.arena @operations : 2304
exec.program @grouped mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @x : 96 in @activations persistent
  exec.buffer @w : 256 in @activations persistent
  exec.buffer @ids : 48 in @activations persistent
  exec.buffer @y : 96 in @activations
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<3x4xf32>
    %w = exec.view @w[0] : memref<2x4x8xf32>
    %ids = exec.view @ids[0] : memref<6xi64>
    %y = exec.view @y[0] : memref<3x8xf32>
    exec.library "grouped_matmul" ins(%x, %w, %ids : memref<3x4xf32>, memref<2x4x8xf32>, memref<6xi64>) outs(%y : memref<3x8xf32>) [-1]
  }
}

// The gradient of an embedding: what sorts 130 rows, and two partial sums of 12 floats and their keys for each of three
// segments of 64 rows.
// CHECK-LABEL: exec.program @table
// CHECK: exec.arena @operations : 3328
exec.program @table mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @rows : 3120 in @activations persistent
  exec.buffer @ids : 1040 in @activations persistent
  exec.buffer @table : 240 in @activations
  exec.phase @microbatch {
    %rows = exec.view @rows[0] : memref<130x12xbf16>
    %ids = exec.view @ids[0] : memref<130xi64>
    %table = exec.view @table[0] : memref<5x12xf32>
    exec.library "scatter_add" ins(%rows, %ids : memref<130x12xbf16>, memref<130xi64>) outs(%table : memref<5x12xf32>) [unit, 0, -1]
  }
}

// Ops of two streams run beside each other: each stream has a piece.
// CHECK-LABEL: exec.program @streams
// CHECK: exec.arena @operations : 67109120
exec.program @streams mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @a : 64 in @activations persistent
  exec.buffer @b : 64 in @activations persistent
  exec.buffer @c : 64 in @activations
  exec.buffer @d : 64 in @activations
  exec.buffer @e : 16 in @activations
  exec.phase @microbatch {
    %a = exec.view @a[0] : memref<1x4x4xf32>
    %b = exec.view @b[0] : memref<1x4x4xf32>
    %c = exec.view @c[0] : memref<1x4x4xf32>
    %d = exec.view @d[0] : memref<1x4x4xf32>
    %e = exec.view @e[0] : memref<4xf32>
    exec.library "matmul" ins(%a, %b : memref<1x4x4xf32>, memref<1x4x4xf32>) outs(%c : memref<1x4x4xf32>) [0, 0]
    exec.library "matmul_epilogue" ins(%a, %b : memref<1x4x4xf32>, memref<1x4x4xf32>) outs(%d, %e : memref<1x4x4xf32>, memref<4xf32>) [0, 0, 0, 0] {stream = 1 : i64}
  }
}

// The gradient of attention of halves: room for cuDNN's sums of dq, 12 heads of 64 rows of 8 floats, its dk and dv of heads that
// share keys, in halves, a float a query, and a little.
// CHECK-LABEL: exec.program @fused
// CHECK: exec.arena @operations : 53760
exec.program @fused mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @queries : 1920 in @activations persistent
  exec.buffer @keys : 768 in @activations persistent
  exec.buffer @lse : 480 in @activations persistent
  exec.phase @microbatch {
    %q = exec.view @queries[0] : memref<2x10x2x3x8xbf16>
    %k = exec.view @keys[0] : memref<2x12x2x8xbf16>
    %lse = exec.view @lse[0] : memref<2x2x3x10xf32>
    exec.library "attention_grad" ins(%q, %k, %k, %q, %lse, %q : memref<2x10x2x3x8xbf16>, memref<2x12x2x8xbf16>, memref<2x12x2x8xbf16>, memref<2x10x2x3x8xbf16>, memref<2x2x3x10xf32>, memref<2x10x2x3x8xbf16>) outs(%q, %k, %k : memref<2x10x2x3x8xbf16>, memref<2x12x2x8xbf16>, memref<2x12x2x8xbf16>) [1.0, 0.0, 1, 0, -1, -1, 0, 0, -1]
  }
}

// Of f32: a float a query of each head.
// CHECK-LABEL: exec.program @own
// CHECK: exec.arena @operations : 512
exec.program @own mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @queries : 3840 in @activations persistent
  exec.buffer @keys : 1536 in @activations persistent
  exec.buffer @lse : 480 in @activations persistent
  exec.phase @microbatch {
    %q = exec.view @queries[0] : memref<2x10x2x3x8xf32>
    %k = exec.view @keys[0] : memref<2x12x2x8xf32>
    %lse = exec.view @lse[0] : memref<2x2x3x10xf32>
    exec.library "attention_grad" ins(%q, %k, %k, %q, %lse, %q : memref<2x10x2x3x8xf32>, memref<2x12x2x8xf32>, memref<2x12x2x8xf32>, memref<2x10x2x3x8xf32>, memref<2x2x3x10xf32>, memref<2x10x2x3x8xf32>) outs(%q, %k, %k : memref<2x10x2x3x8xf32>, memref<2x12x2x8xf32>, memref<2x12x2x8xf32>) [1.0, 0.0, 1, 0, -1, -1, 0, 0, -1]
  }
}
