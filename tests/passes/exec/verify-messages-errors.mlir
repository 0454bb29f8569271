// RUN: dtcc-opt %s --exec-verify-messages -split-input-file -verify-diagnostics

// Both wait for the message of the other before they send.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error@+1 {{the step never ends: stage 0 waits in b 1 for a message of stage 1 on channel @channel, stage 1 waits in fb 1 for a message of stage 0 on channel @channel}}
exec.program @step.0 mesh @mesh stage 0 over "pp" actions [f 0, b 0, b 1, f 1, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @f repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.send to 1 on @channel ins(%x : memref<16xf32>)
  }
  exec.phase @b repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.receive from 1 on @channel outs(%x : memref<16xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
exec.program @step.1 mesh @mesh stage 1 over "pp" actions [fb 0, fb 1, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @fb repeat 2 {
    %x = exec.view @x[0] : memref<4x4xf32>
    exec.receive from 0 on @channel outs(%x : memref<4x4xf32>)
    exec.send to 0 on @channel ins(%x : memref<4x4xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}

// -----

// A collective before the message that the other stage waits for.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error@+1 {{the step never ends: stage 0 waits in update 0 for the others of group @over.pp, stage 1 waits in fb 1 for a message of stage 0}}
exec.program @step.0 mesh @mesh stage 0 over "pp" actions [f 0, b 0, update 0, f 1, b 1] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @f repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.send to 1 on @channel ins(%x : memref<16xf32>)
  }
  exec.phase @b repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.receive from 1 on @channel outs(%x : memref<16xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
exec.program @step.1 mesh @mesh stage 1 over "pp" actions [fb 0, fb 1, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @fb repeat 2 {
    %x = exec.view @x[0] : memref<4x4xf32>
    exec.receive from 0 on @channel outs(%x : memref<4x4xf32>)
    exec.send to 0 on @channel ins(%x : memref<4x4xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}

// -----

// One stage sends less than the other receives.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error@+1 {{stage 1 receives 16 x f32 in fb 0, but stage 0 sends 8 x f32 on channel @channel}}
exec.program @step.0 mesh @mesh stage 0 over "pp" actions [f 0, f 1, b 0, b 1, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @f repeat 2 {
    %x = exec.view @x[0] : memref<8xf32>
    exec.send to 1 on @channel ins(%x : memref<8xf32>)
  }
  exec.phase @b repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.receive from 1 on @channel outs(%x : memref<16xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
exec.program @step.1 mesh @mesh stage 1 over "pp" actions [fb 0, fb 1, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @fb repeat 2 {
    %x = exec.view @x[0] : memref<4x4xf32>
    exec.receive from 0 on @channel outs(%x : memref<4x4xf32>)
    exec.send to 0 on @channel ins(%x : memref<4x4xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}

// -----

// Nobody receives the last gradient.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error@+1 {{stage 0 never receives 16 x f32, which stage 1 sends on channel @channel}}
exec.program @step.0 mesh @mesh stage 0 over "pp" actions [f 0, f 1, b 0, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @f repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.send to 1 on @channel ins(%x : memref<16xf32>)
  }
  exec.phase @b repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.receive from 1 on @channel outs(%x : memref<16xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
exec.program @step.1 mesh @mesh stage 1 over "pp" actions [fb 0, fb 1, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @fb repeat 2 {
    %x = exec.view @x[0] : memref<4x4xf32>
    exec.receive from 0 on @channel outs(%x : memref<4x4xf32>)
    exec.send to 0 on @channel ins(%x : memref<4x4xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}

// -----

// Members that do not exist.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
exec.program @step.0 mesh @mesh stage 0 over "pp" actions [f 0, f 1, b 0, b 1, update 0] {
  exec.communicator @channel over ["pp"]
  // expected-error@+1 {{member must be one of the 2 stages, got: 5}}
  exec.communicator @over.pp over ["pp"] members [0, 5]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @f repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.send to 1 on @channel ins(%x : memref<16xf32>)
  }
  exec.phase @b repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.receive from 1 on @channel outs(%x : memref<16xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
exec.program @step.1 mesh @mesh stage 1 over "pp" actions [fb 0, fb 1, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @fb repeat 2 {
    %x = exec.view @x[0] : memref<4x4xf32>
    exec.receive from 0 on @channel outs(%x : memref<4x4xf32>)
    exec.send to 0 on @channel ins(%x : memref<4x4xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}

// -----

// A stage is missing.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
exec.program @step.0 mesh @mesh stage 0 over "pp" actions [f 0, f 1, b 0, b 1, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @f repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.send to 1 on @channel ins(%x : memref<16xf32>)
  }
  exec.phase @b repeat 2 {
    %x = exec.view @x[0] : memref<16xf32>
    exec.receive from 1 on @channel outs(%x : memref<16xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
// expected-error@+1 {{must be that of stage 1, got: 2}}
exec.program @step.1 mesh @mesh stage 2 over "pp" actions [fb 0, fb 1, update 0] {
  exec.communicator @channel over ["pp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @a : 64
  exec.buffer @x : 64 in @a
  exec.phase @fb repeat 2 {
    %x = exec.view @x[0] : memref<4x4xf32>
    exec.receive from 0 on @channel outs(%x : memref<4x4xf32>)
    exec.send to 0 on @channel ins(%x : memref<4x4xf32>)
  }
  exec.phase @update {
    %x = exec.view @x[0] : memref<16xf32>
    exec.collective all_reduce sum on @over.pp ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
