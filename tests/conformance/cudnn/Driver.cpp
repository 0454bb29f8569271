//===- Driver.cpp - A libcuda that loads every kernel and runs none
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN compiles the kernels of a plan with NVRTC for the GPU that a description names, and hands them to the driver to
// load. That is all it asks of the driver, so that a plan can be finalized where there is none.
//
//===----------------------------------------------------------------------===//

extern "C" {

/// Gives an address that nobody may follow, for every object that is loaded, found or made.
static int give(void **made) {
  *made = reinterpret_cast<void *>(8);
  return 0;
}

int cuLibraryLoadData(void **library) { return give(library); }
int cuLibraryGetKernel(void **kernel) { return give(kernel); }
int cuKernelGetFunction(void **function) { return give(function); }
int cuModuleLoadData(void **module) { return give(module); }
int cuModuleLoadDataEx(void **module) { return give(module); }
int cuModuleGetFunction(void **function) { return give(function); }
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}
int cuGetErrorName(int, const char **text) {
  *text = "an error of the test's driver";
  return 0;
}
int cuGetErrorString(int error, const char **text) { return cuGetErrorName(error, text); }

// Looked up, and nothing where no kernel runs. 801: CUDA_ERROR_NOT_SUPPORTED.
#define DTCC_DOES_NOTHING(NAME)                                                                                        \
  int NAME() { return 0; }
#define DTCC_CANNOT(NAME)                                                                                              \
  int NAME() { return 801; }
DTCC_DOES_NOTHING(cuLibraryUnload)
DTCC_DOES_NOTHING(cuModuleUnload)
DTCC_DOES_NOTHING(cuKernelSetAttribute)
DTCC_DOES_NOTHING(cuFuncSetAttribute)
DTCC_CANNOT(cuCtxGetCurrent)
DTCC_CANNOT(cuCtxGetLimit)
DTCC_CANNOT(cuCtxPopCurrent)
DTCC_CANNOT(cuCtxPushCurrent)
DTCC_CANNOT(cuDeviceGet)
DTCC_CANNOT(cuDeviceGetCount)
DTCC_CANNOT(cuKernelGetAttribute)
DTCC_CANNOT(cuLaunchCooperativeKernel)
DTCC_CANNOT(cuLaunchKernel)
DTCC_CANNOT(cuLaunchKernelEx)
DTCC_CANNOT(cuLibraryLoadFromFile)
DTCC_CANNOT(cuLinkAddData)
DTCC_CANNOT(cuLinkComplete)
DTCC_CANNOT(cuLinkCreate)
DTCC_CANNOT(cuLinkDestroy)
DTCC_CANNOT(cuOccupancyMaxPotentialClusterSize)
DTCC_CANNOT(cuStreamGetCtx)
}
