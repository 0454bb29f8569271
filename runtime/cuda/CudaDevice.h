//===- CudaDevice.h - Commands on a GPU ----------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams of the command table are streams of the GPU; a command whose end others wait for
// records an event. The streams of an action meet at its end. The host waits where a
// message goes through it (Exchange.h), and at the end of a step for the loss.
//
// If no command needs the host, the parts of a step are kept as CUDA graphs (StepGraphs.h).
//
// Everything that a launch needs is looked up when its command is bound: a step allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_CUDADEVICE_H
#define DTCC_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/cuda/HostMirror.h"
#include "runtime/cuda/StepGraphs.h"
#include "runtime/cuda/collective/GpuGroups.h"
#include "runtime/cuda/driver/GpuLauncher.h"
#include "runtime/device/Device.h"

namespace dtcc::rt::cuda {

class CudaDevice : public Device {
public:
  /// Allocates the rank's arenas on its GPU and loads the program's kernels.
  explicit CudaDevice(const DeviceSetup &setup);

  std::byte *arena(uint32_t number) const override { return reinterpret_cast<std::byte *>(arenas[number]); }
  /// Does nothing: commands of several streams always overlap on a GPU.
  void overlap() override {}
  void bind(uint32_t command) override;
  void prepare() override;
  void begin() override;
  const std::string &choices() const override { return chosen; }
  /// Copies from memory that is not locked, which the driver has read when it returns.
  void upload(uint32_t view, int64_t slot) override;
  std::byte *lend(uint64_t bytes) override;
  void uploadFrom(const std::byte *source, uint32_t view, int64_t slot) override;
  void reserveAhead(uint64_t spare) override;
  bool sendAhead(const std::byte *memory) override;
  void awaitUploads(const std::byte *memory) override;
  void download(std::span<const uint32_t> views, int64_t slot) override;
  void downloadStates() override;
  void uploadStates() override;
  void beginStep() override;
  void runPart(uint32_t number, const std::function<void()> &run) override;
  void expect(std::span<const uint32_t> receives) override;
  void run(uint32_t command, void *const *buffers, const void *predicate) override;
  void endAction() override;
  void endGradSquares() override;

private:
  struct Bound {
    CUfunction kernel = nullptr;
    std::unique_ptr<CudaOp> op;
    std::unique_ptr<GpuRows> rows;
    std::string_view name;
    CUevent done = nullptr; /* if a command of another stream waits for it */
    uint64_t action = 0;    /* the last action in which it ran */
  };
  struct Stream {
    CUstream handle = nullptr;
    CUevent end = nullptr; /* recorded where another stream waits for all that stands on this one */
    void *workspace = nullptr;
    bool used = false;       /* in this action */
    uint64_t forkedFrom = 0; /* how much of the first stream it comes after */
  };
  /// Locked memory. Its uploads have a stream of their own, so that the host can wait for them and for nothing behind
  /// them.
  struct Lent {
    std::byte *memory;
    uint64_t bytes;
    CUstream stream;
    CUevent before, after; /* the first stream's end before an upload; an upload's end */
  };
  /// Memory of the GPU that takes the bytes of a lent memory until the first stream copies them to the inputs. All lent
  /// memories share it: the first stream copies the samples of a slot when the slot begins, and those of the next slot
  /// are sent behind that.
  struct Ahead {
    CUdeviceptr memory = 0;           /* 0: none */
    const std::byte *holds = nullptr; /* start of the lent memory whose bytes were sent last */
    CUevent arrived = nullptr;        /* the end of the last copy to this memory */
    CUevent left = nullptr;           /* the end of what the first stream has done with this memory */
  };
  /// Bytes [begin, end) of an arena.
  struct Range {
    uint64_t begin = 0, end = 0;
  };

  void loadProgram();
  void checkGraphs();
  void tune();
  void loadLibraries();
  /// Addresses of the buffers of command `number` of the stage, in the first slot.
  std::vector<void *> buffersOf(size_t number) const;
  void launchKernel(uint32_t number, void *const *buffers, const void *predicate);
  void fork(Stream &stream);
  bool isSet(const void *predicate, CUstream stream);
  bool isOnHost(uint32_t arena) const;
  /// Calls fn(address of the states, mirror, range of the states) for each arena of the stage in the GPU's memory.
  template <typename Fn> void forEachState(Fn fn);
  Range rangeOf(uint32_t view) const;
  CUdeviceptr address(uint32_t view, int64_t slot) const;
  Lent &lentAt(const std::byte *place);

  DeviceSetup setup;
  Gpu gpu;
  GpuLauncher launcher;
  std::vector<CUdeviceptr> arenas; /* of the image, as kernels see them; 0 for those of other stages */
  std::vector<HostMirror> mirrors; /* of the stage's arenas; empty for those that lie with the host */
  std::vector<Range> states;       /* of each of the image's arenas, what holds states */
  std::string chosen;              /* see choices() */
  CUmodule program = nullptr;
  /// The rank's dtcc_rank of each slot, each with its coordinates; behind all slots Rank::gradNormLimit, and whether
  /// the step is asked for norms of gradients.
  CUdeviceptr records = 0;
  uint64_t recordBytes = 0;
  std::vector<std::byte> hostRecords;
  std::vector<double> hostSquares; /* as GradSquaresOnGpu::found; empty if the run asks for no norms */
  std::vector<Bound> bound;        /* by command of the stage */
  std::vector<void *> parameters;  /* of a generated kernel's launch */
  std::vector<Stream> streams;
  std::vector<Lent> lent;
  Ahead ahead;
  uint64_t action = 1;                 /* counts on over steps */
  uint64_t issued = 1, recordedAt = 0; /* on the first stream; of it when its event was recorded last */
  GpuGroups groups;
  StepGraphs graphs; /* name what stands before: the first to go */
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_CUDADEVICE_H
