// RUN: dtcc-opt %s -exec-offload-values=ahead=1 -split-input-file | FileCheck %s
// RUN: dtcc-opt %s -exec-offload-values=ahead=1 -exec-assign-slots -exec-assign-streams=behind=1 -exec-plan-arena -exec-verify -split-input-file \
// RUN:   | FileCheck %s --check-prefix=PLANNED
// RUN: dtcc-opt %s -exec-assign-slots -exec-assign-streams -exec-plan-arena -exec-verify -split-input-file | FileCheck %s --check-prefix=KEPT

// Values of two layers, of which the first waits. What is used in between takes its memory.
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
// CHECK: exec.arena @host : 0 host
// PLANNED: exec.arena @host : 64 host
// PLANNED: exec.arena @activations : 192
// KEPT: exec.arena @activations : 256
exec.program @step mesh @mesh {
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @soon : 64 in @activations {spmd.on_host}
  exec.buffer @a : 64 in @activations
  exec.buffer @b : 64 in @activations
  // CHECK: exec.buffer @kept : 64 in @activations{{$}}
  // CHECK: exec.buffer @kept.back0 : 64 in @activations
  // CHECK: exec.buffer @kept.host : 64 in @host
  exec.buffer @kept : 64 in @activations {spmd.on_host}
  exec.phase @microbatch repeat 2 {
    %x = exec.view @x[0] : memref<4x4xf32>
    %kept = exec.view @kept[0] : memref<4x4xf32>
    %soon = exec.view @soon[0] : memref<4x4xf32>
    %a = exec.view @a[0] : memref<4x4xf32>
    %b = exec.view @b[0] : memref<4x4xf32>
    // CHECK: exec.library "matmul" {{.*}} outs(%[[VALUE:[a-z0-9_]*]] :
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%kept : memref<4x4xf32>) [0, 0]
    // Behind the last command of the forward pass that reads it, in one piece.
    // CHECK-NEXT: exec.library "matmul" ins(%[[VALUE]],
    // PLANNED: %[[READ:.*]] = exec.library "matmul" {{.*}} -> !exec.event
    exec.library "matmul" ins(%kept, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%soon : memref<4x4xf32>) [0, 0]
    // CHECK-NEXT: %[[ALL:.*]] = exec.view @kept[0] : memref<64xi8>
    // CHECK-NEXT: %[[THERE:.*]] = exec.view @kept.host[0] : memref<64xi8>
    // CHECK-NEXT: exec.copy ins(%[[ALL]] : memref<64xi8>) outs(%[[THERE]] : memref<64xi8>) {name = "to_host"}
    // PLANNED: %[[AWAY:.*]] = exec.copy {{.*}} after(%[[READ]]) {name = "to_host", stream = 2 : i64} -> !exec.event
    // PLANNED-NEXT: exec.library "matmul"
    // PLANNED-NOT: after
    exec.library "matmul" ins(%soon, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>) [0, 0]
    // Its memory is free behind this one.
    // PLANNED: exec.library "matmul" {{.*}} after(%[[AWAY]])
    exec.library "matmul" ins(%soon, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>) [0, 0]
    exec.library "matmul" ins(%a, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) [0, 0]
    // PLANNED: exec.library "matmul" {{.*}} -> !exec.event
    exec.library "matmul" ins(%soon, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>) [0, 0]
    // PLANNED: %[[BACK:.*]] = exec.copy {{.*}} {name = "from_host", stream = 3 : i64} -> !exec.event
    // CHECK: %[[AGAIN:.*]] = exec.view @kept.back0[0] : memref<64xi8>
    // CHECK-NEXT: exec.copy ins(%{{.*}} : memref<64xi8>) outs(%[[AGAIN]] : memref<64xi8>) {name = "from_host"}
    // CHECK-NEXT: exec.library "matmul"
    // PLANNED-NEXT: exec.library "matmul"
    // PLANNED-NOT: after
    exec.library "matmul" ins(%a, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) [0, 0]
    // The last reader may write over what came back.
    // PLANNED: exec.library "matmul" {{.*}} after(%[[BACK]])
    exec.library "matmul" ins(%kept, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>) [0, 0]
    exec.copy ins(%a : memref<4x4xf32>) outs(%kept : memref<4x4xf32>)
  }
}

// -----

// Of a pipeline: two micro-batches wait, memory of the device has one. The phase of weight gradients fetches what it reads
// for itself, and goes on with what that of inputs left for it.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 1, rank>]
// PLANNED: exec.program @step.0
// PLANNED: exec.buffer @read : 64 in @activations
// PLANNED: exec.buffer @read.back1 : 64 in @activations
// PLANNED: exec.buffer @read.back0 : 64 in @activations
// PLANNED: exec.buffer @read.host : 128 in @host
// PLANNED: exec.buffer @over : 64 in @activations
// PLANNED: exec.buffer @over.back0 : 64 in @activations
// PLANNED: exec.buffer @over.host : 128 in @host
// KEPT: exec.buffer @read : 128
exec.program @step.0 mesh @mesh stage 0 over "pp" actions [f 0, f 1, i 0, w 0, i 1, w 1] {
  exec.arena @activations : 0
  exec.buffer @x : 64 in @activations persistent
  exec.buffer @read : 64 in @activations {spmd.on_host}
  exec.buffer @over : 64 in @activations {spmd.on_host}
  exec.buffer @y : 64 in @activations
  exec.phase @f repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    %read = exec.view @read[0] : memref<16xf32>
    %over = exec.view @over[0] : memref<16xf32>
    %y = exec.view @y[0] : memref<16xf32>
    exec.copy ins(%x : memref<16xf32>) outs(%read : memref<16xf32>)
    // CHECK: {name = "to_host"}
    exec.copy ins(%x : memref<16xf32>) outs(%over : memref<16xf32>)
    // CHECK: {name = "to_host"}
    exec.copy ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
    exec.copy ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
    exec.copy ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
  }
  // CHECK: exec.phase @i
  // CHECK-COUNT-2: {name = "from_host"}
  exec.phase @i repeat 2 {
    %read = exec.view @read[0] : memref<16xf32>
    %over = exec.view @over[0] : memref<16xf32>
    %y = exec.view @y[0] : memref<16xf32>
    exec.copy ins(%read : memref<16xf32>) outs(%y : memref<16xf32>)
    exec.copy ins(%over : memref<16xf32>) outs(%y : memref<16xf32>)
    exec.copy ins(%y : memref<16xf32>) outs(%over : memref<16xf32>)
  }
  // CHECK: exec.phase @w
  // CHECK: exec.view @over.back0[0]
  // CHECK: {name = "from_host"}
  // CHECK-NOT: {name = "from_host"}
  exec.phase @w repeat 2 {
    %read = exec.view @read[0] : memref<16xf32>
    %over = exec.view @over[0] : memref<16xf32>
    %y = exec.view @y[0] : memref<16xf32>
    exec.copy ins(%read : memref<16xf32>) outs(%y : memref<16xf32>)
    exec.copy ins(%over : memref<16xf32>) outs(%y : memref<16xf32>)
  }
}

// -----

// A copy that nobody waited for holds what it copies to the end of the phase, and what comes back waits for what goes.
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
// PLANNED: exec.program @late
// PLANNED: exec.arena @activations : 128
exec.program @late mesh @mesh {
  exec.arena @host : 0 host
  exec.arena @activations : 0
  exec.buffer @kept : 64 in @activations
  exec.buffer @kept.host : 64 in @host
  exec.buffer @kept.back0 : 64 in @activations
  exec.buffer @y : 64 in @activations
  exec.phase @last {
    %kept = exec.view @kept[0] : memref<16xf32>
    %host = exec.view @kept.host[0] : memref<16xf32>
    %y = exec.view @y[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%kept : memref<16xf32>)
    exec.copy ins(%kept : memref<16xf32>) outs(%host : memref<16xf32>)
    exec.fill 0.0 : f32 outs(%y : memref<16xf32>)
  }
  // PLANNED: exec.phase @soon
  exec.phase @soon {
    %kept = exec.view @kept[0] : memref<16xf32>
    %host = exec.view @kept.host[0] : memref<16xf32>
    %back = exec.view @kept.back0[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%kept : memref<16xf32>)
    // PLANNED: %[[GONE:.*]] = exec.copy {{.*}}stream = 2 : i64} -> !exec.event
    exec.copy ins(%kept : memref<16xf32>) outs(%host : memref<16xf32>)
    // PLANNED: exec.copy {{.*}}after({{.*}}%[[GONE]]){{.*}}stream = 3
    exec.copy ins(%host : memref<16xf32>) outs(%back : memref<16xf32>)
    exec.fill 0.0 : f32 outs(%back : memref<16xf32>)
  }
}
