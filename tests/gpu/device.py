# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the first GPU is and how fast it copies, through NVIDIA's driver alone. Prints one JSON line.

    python3 tests/gpu/device.py [--bytes=1073741824]

`copy_bytes_per_second` counts what is read and what is written: the bandwidth that memory-bound kernels are held against.
"""
import argparse
import ctypes
import json
import sys

MAJOR, MINOR, PROCESSORS = 75, 76, 16  # CUdevice_attribute


class Driver:
    """libcuda; a call that fails raises RuntimeError with its name and CUDA's error."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            if status := function(*arguments):
                raise RuntimeError(f"{name}: CUDA error {status}")
        return call


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    cuda = Driver()
    cuda.cuInit(0)
    version, device, value = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    context = ctypes.c_void_p()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, 256, device)

    def attribute(which):
        cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device)
        return value.value

    told = {"name": name.value.decode(), "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
            "capability": f"{attribute(MAJOR)}.{attribute(MINOR)}", "multiprocessors": attribute(PROCESSORS)}
    # A runtime's own context, as dtcc's programs use it.
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    cuda.cuCtxSetCurrent(context)
    source, target = ctypes.c_uint64(), ctypes.c_uint64()
    for buffer in (source, target):
        cuda.cuMemAlloc_v2(ctypes.byref(buffer), ctypes.c_size_t(arguments.bytes))
        cuda.cuMemsetD8Async(buffer, ctypes.c_ubyte(1), ctypes.c_size_t(arguments.bytes), None)
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        cuda.cuEventCreate(ctypes.byref(event), 0)
    best = float("inf")
    for _ in range(3):
        cuda.cuEventRecord(events[0], None)
        for _ in range(arguments.repeats):
            cuda.cuMemcpyDtoDAsync_v2(target, source, ctypes.c_size_t(arguments.bytes), None)
        cuda.cuEventRecord(events[1], None)
        cuda.cuEventSynchronize(events[1])
        passed = ctypes.c_float()
        cuda.cuEventElapsedTime(ctypes.byref(passed), *events)
        best = min(best, passed.value * 1e-3)
    told["copy_bytes_per_second"] = 2 * arguments.bytes * arguments.repeats / max(best, 1e-12)
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, AttributeError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
