//===- Gpu.h - One GPU as one rank uses it -------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's calls for one rank: memory, streams, copies, code. Ranks that are
// threads of one process share the context of a GPU, as the driver means it.
//
// Errors say the rank, what it was doing, the GPU and the call. What a kernel did wrong is
// reported by a later call, so the name is of the command that noticed.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_DRIVER_GPU_H
#define DTCC_RUNTIME_CUDA_DRIVER_GPU_H

#include "runtime/cuda/driver/CudaOp.h"
#include "runtime/cuda/driver/Driver.h"

#include <exception>
#include <initializer_list>
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

/// Properties of a GPU that kernels and messages need.
struct GpuInfo {
  std::string model;    /* "NVIDIA H100 80GB HBM3" */
  std::string title;    /* "GPU 0 (NVIDIA H100 80GB HBM3)" */
  int architecture = 0; /* 90: sm_90 */
  int multiprocessors = 1;
};

class Gpu {
public:
  /// Number `ordinal` of the machine's GPUs, counted round. Makes its context the calling thread's.
  Gpu(int64_t rank, int64_t ordinal);
  ~Gpu();
  Gpu(const Gpu &) = delete;

  /// Makes its context the calling thread's.
  void makeCurrent() const;
  /// Sets the observer of waits, or null.
  void tell(GpuWaits *other) { waits = other; }
  /// Runs `call`, which may wait for other ranks, as part of the wait under way if there is one. It does not throw.
  template <typename Call> auto waiting(Call &&call) {
    if (!waits || isWaiting)
      return call();
    beginWait();
    auto result = call();
    endWait();
    return result;
  }
  /// Runs `call`, which issues work to the GPU and may throw. The driver holds up a launch while about a thousand
  /// before it have not begun, and they may stand behind a collective that waits for other ranks.
  template <typename Call> void issuing(Call &&call) {
    std::exception_ptr problem;
    waiting([&] {
      try {
        call();
      } catch (...) {
        problem = std::current_exception();
      }
      return 0;
    });
    if (problem)
      std::rethrow_exception(problem);
  }
  /// Sets the activity that error messages of this rank name.
  void nowDoing(std::string_view what) { doing = what; }
  /// "rank 1, layer3.all_reduce, GPU 1 (NVIDIA ..)", for messages.
  std::string where() const;
  const GpuInfo &info() const { return about; }
  /// The globally unique id of this GPU.
  void uuid(unsigned char bytes[16]) const;

  /// Memory that lives as long as this, zeroed in the order of stream 0.
  CUdeviceptr allocate(uint64_t bytes, std::string_view what);
  /// Locked memory of the host that kernels see at the same address; zeroed. Lives as long as this.
  std::byte *allocateLocked(uint64_t bytes, std::string_view what);
  /// Bytes of the GPU's memory that no process has allocated now.
  uint64_t freeBytes() const;
  CUstream stream(uint32_t number);
  CUstream firstStream() { return stream(0); }
  /// One that no command of the table names.
  CUstream newStream() { return stream(static_cast<uint32_t>(streams.size()) + (1 << 16)); }
  /// An event; without times by default.
  CUevent event(unsigned flags = kNoTiming);
  void record(CUevent event, CUstream stream);
  /// Records an event that somebody asks (isPending), which no stream waits for: each launch of a graph does it anew.
  void mark(CUevent event, CUstream stream);
  void wait(CUstream stream, CUevent event);
  /// Whether work before the event's last record is not done. From any thread.
  bool isPending(CUevent event) const;
  void synchronize(CUstream stream);
  void copyToDevice(CUdeviceptr to, const void *from, uint64_t bytes, CUstream stream);
  /// Copies from locked memory when the events `before` are done, and records `after` behind the copy. Any thread may
  /// call it; it makes the context that thread's. False if the driver refuses: an error's message would name what the
  /// rank's thread does at the moment.
  bool copyBeside(CUdeviceptr to, const void *from, uint64_t bytes, CUstream stream,
                  std::initializer_list<CUevent> before, CUevent after) const;
  void copyWithin(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, CUstream stream);
  void clear(CUdeviceptr at, uint64_t bytes, CUstream stream);
  void copyToHost(void *to, CUdeviceptr from, uint64_t bytes, CUstream stream);

  /// Whether what the rank issues is being captured as a graph, and not run.
  void setCapturing(bool is) { capturing = is; }

  /// Code for this GPU: PTX that ends with NUL, or an image of the assembler.
  CUmodule load(const char *code, std::string_view what);
  CUfunction function(CUmodule module, const char *name);

  void launch(CUfunction function, CUstream stream, const LaunchShape &shape, void **parameters);

  /// Throws Error(Status::Device), with the activity and the name of the call, if `error` is one.
  void check(CUresult error, const char *call) const;

private:
  void beginWait();
  void endWait();

  const Driver &cuda;
  int64_t rank;
  CUdevice device = 0;
  CUcontext context = nullptr;
  GpuWaits *waits = nullptr;
  bool isWaiting = false;
  GpuInfo about;
  std::string_view doing = "starting";
  bool capturing = false;
  std::vector<CUdeviceptr> blocks;
  std::vector<void *> lockedBlocks;
  std::map<uint32_t, CUstream> streams;
  std::vector<CUevent> events;
  std::vector<CUmodule> modules;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_DRIVER_GPU_H
