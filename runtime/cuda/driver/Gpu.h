//===- Gpu.h - One GPU as one rank uses it -------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's calls for one rank: memory, streams, code, launches. Ranks that are
// threads of one process share the context of a GPU, as the driver means it.
//
// Errors say the rank, what it was doing, the GPU and the call. What a kernel did wrong is
// reported by a later call, so the name is of the command that noticed.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_DRIVER_GPU_H
#define DTCC_RUNTIME_CUDA_DRIVER_GPU_H

#include "runtime/cuda/driver/Driver.h"

#include <functional>
#include <map>
#include <string_view>
#include <vector>

namespace dtcc::rt::cuda {

/// Told when the rank's thread begins to wait for the GPU, and when it has waited; then it may throw Error.
class GpuWaits {
public:
  virtual ~GpuWaits() = default;
  virtual void begin(std::string_view doing) = 0;
  virtual void end() = 0;
};

class Gpu : public Launcher {
public:
  /// Number `ordinal` of the machine's GPUs, counted round. Makes its context the calling thread's.
  Gpu(int64_t rank, int64_t ordinal);
  ~Gpu() override;
  Gpu(const Gpu &) = delete;

  /// Makes its context the calling thread's.
  void makeCurrent() const;
  /// Sets the observer of waits, or null.
  void tell(GpuWaits *other) { waits = other; }
  /// Runs `call`, which may wait for other ranks. It does not throw.
  template <typename Call> auto waiting(Call &&call) {
    if (waits)
      waits->begin(doing);
    auto result = call();
    if (waits)
      waits->end();
    return result;
  }
  /// Sets the activity that error messages of this rank name.
  void nowDoing(std::string_view what) { doing = what; }
  /// "rank 1, layer3.all_reduce, GPU 1 (NVIDIA ..)", for messages.
  std::string where() const;
  const std::string &name() const { return title; }      /* "GPU 0 (NVIDIA H100 80GB HBM3)" */
  const std::string &model() const { return modelName; } /* "NVIDIA H100 80GB HBM3" */
  int architecture() const { return generation; }        /* 90: sm_90 */
  /// The globally unique id of this GPU.
  void uuid(unsigned char bytes[16]) const;

  /// Memory that lives as long as this, zeroed in the order of stream 0.
  CUdeviceptr allocate(uint64_t bytes, std::string_view what);
  /// Locked memory of the host that kernels see at the same address; zeroed. Lives as long as this.
  std::byte *allocateLocked(uint64_t bytes, std::string_view what);
  CUstream stream(uint32_t number);
  CUstream firstStream() { return stream(0); }
  /// One that no command of the table names.
  CUstream newStream() { return stream(static_cast<uint32_t>(streams.size()) + (1 << 16)); }
  /// An event without times.
  CUevent event();
  /// One with a time, and what is between two that have been.
  CUevent timedEvent();
  float milliseconds(CUevent begin, CUevent end);
  void record(CUevent event, CUstream stream);
  /// Records an event that somebody asks (isPending), which no stream waits for: each launch of a graph does it anew.
  void mark(CUevent event, CUstream stream);
  void wait(CUstream stream, CUevent event);
  /// Whether work before the event's last record is not done. From any thread.
  bool isPending(CUevent event) const;
  void synchronize(CUstream stream);
  void copyToDevice(CUdeviceptr to, const void *from, uint64_t bytes, CUstream stream);
  void copyWithin(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, CUstream stream);
  void copyToHost(void *to, CUdeviceptr from, uint64_t bytes, CUstream stream);

  /// Captures as a graph the commands that `work` issues to `origin` and to streams that are joined to it by events.
  /// Nothing is run. `work` must not wait or allocate; an exception from it ends the capture.
  CUgraphExec capture(CUstream origin, const std::function<void()> &work);
  void launch(CUgraphExec graph, CUstream stream);
  void destroy(CUgraphExec graph);

  /// Code for this GPU: PTX that ends with NUL, or an image of the assembler.
  CUmodule load(const char *code, std::string_view what);
  CUfunction function(CUmodule module, const char *name);

  // Launcher
  CUfunction kernel(const char *module, const char *name, uint64_t sharedBytes) override;
  void reserveWorkspace(uint64_t bytes) override;
  const void *upload(std::span<const std::byte> bytes) override;
  int multiprocessors() const override { return processors; }
  void *products() override;
  void *fusions() override;
  void launch(CUfunction function, CUstream stream, const LaunchShape &shape, void **parameters) override;
  void copy(void *to, const void *from, uint64_t bytes, CUstream stream) override;

  /// Attention by kernels of ours alone.
  void useOwnAttention() { dnnTried = true; }
  /// Lets streams work in memory that the plan has for them, or a message says that their ops want more.
  void lendWorkspace(CUdeviceptr address, uint64_t bytes) { lent = address, lentBytes = bytes; }
  /// Ops that are bound from now on run on `stream`, and reserve scratch memory of that stream.
  void bindFor(uint32_t stream) { boundFor = stream; }
  /// Scratch memory of a stream, after all reservations: of the plan where that has some, a piece a stream; else memory
  /// that is enough for any op.
  void *workspace(uint32_t stream);

private:
  void check(CUresult error, const char *call) const;
  int attribute(int which) const;

  const Driver &cuda;
  int64_t rank;
  CUdevice device = 0;
  CUcontext context = nullptr;
  GpuWaits *waits = nullptr;
  std::string title, modelName;
  std::string_view doing = "starting";
  int generation = 0, processors = 1;
  bool capturing = false;
  std::vector<CUdeviceptr> blocks;
  std::vector<void *> lockedBlocks;
  std::map<uint32_t, CUstream> streams;
  std::vector<CUevent> events;
  std::vector<CUmodule> modules;
  std::map<std::string, CUmodule> ownModules;
  std::map<CUfunction, uint64_t> sharedBytes; /* dynamic ones that a function was allowed */
  std::map<uint32_t, CUdeviceptr> workspaces;
  std::map<uint32_t, uint64_t> reserved; /* by stream */
  uint32_t boundFor = 0;
  CUdeviceptr lent = 0;
  uint64_t lentBytes = 0, takenBytes = 0;
  void *blas = nullptr, *dnn = nullptr;
  bool blasTried = false, dnnTried = false;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_DRIVER_GPU_H
