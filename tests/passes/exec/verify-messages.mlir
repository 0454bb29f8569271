// RUN: dtcc-opt %s --exec-verify-messages | FileCheck %s

// 1F1B of two micro-batches: stage 1 sends a gradient while stage 0 sends an activation.
// CHECK: exec.program @step.0
// CHECK: exec.program @step.1
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
