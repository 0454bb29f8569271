# The lit suite: shell lines against the built tools.
#
# Tools on the path: everything in build/bin, and LLVM's (FileCheck, not, count, split-file, mlir-opt).
#
# Substitutions                          Features
#   %models   ../shared/models             shared-models   the folder exists
#   %inputs   tests/inputs                 mpi             mpirun exists
#   %source   the repository               python-onnx     %python can import onnx
#   %build    the build folder
#   %mpirun   mpirun, fit for few cores
#   %emulated runs programs for GPUs       emulated-gpu    the emulator, and the runtime's kernels, are built
#     (with DTCC_TEST_GPUS=real on those   real-gpu        %emulated means GPUs of this machine; tests of what the emulator
#     of this machine)                                       alone does are left out
#   %cxx      the C++ compiler              ptxas           NVIDIA's assembler is on the path
#   %check-header compiles a .cpp with it  header-NAME     NVIDIA's header NAME.h (cuda, cublasLt, cudnn, nccl) is there
#   %library-NAME                          library-NAME    its library is
#   %chromium                              chromium        a browser that takes screenshots
#   %python   the build folder's Python      python-torch, python-transformers, python-torchvision, python-onnxruntime,
#   %torch-python, %export                     python-safetensors, python-tensorboard, python-pyarrow, python-peft: what %torch-python can import
import glob
import os
import platform
import shutil
import subprocess

import lit.formats

config.name = "dtcc"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["inputs", "Inputs", "benchmarks", "unit"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(config.dtcc_build, "tests")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.dtcc_build, "bin"), config.llvm_tools, os.environ.get("PATH", "")])
# Open MPI refuses to run as root unless told twice, and containers run as root.
config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"

# PyTorch is large and only the export script needs it: an environment of its own, if there is one.
torch_python = os.environ.get("DTCC_TORCH_PYTHON", os.path.join(config.dtcc_build, "export", "bin", "python"))

config.substitutions += [
    ("%torch-python", torch_python),
    ("%export", "env PYTHONPATH=%source/tools/export:%S/inputs " + torch_python + " -m dtcc_export"),
    ("%models", config.shared_models),
    ("%inputs", os.path.join(config.test_source_root, "inputs")),
    ("%source", config.dtcc_source),
    ("%build", config.dtcc_build),
    ("%python", config.python),
    # Spinning ranks that outnumber the cores are a thousand times slower: they must yield. A hang ends.
    ("%mpirun", "timeout 120 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
                " --mca btl self,vader --mca pml ob1 --mca plm isolated"),
]


def nvidia_parts(include):
    """Headers of NVIDIA's that are installed, by name, and libraries; of the driver the toolkit has a stub."""
    folders = [include, "/usr/include"] if os.path.isdir(include) else ["/usr/include"]
    beside = [os.path.join(os.path.dirname(include), *more) for more in (("lib64",), ("lib64", "stubs"))]
    beside += ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"]
    for name in ("cuda", "cublasLt", "cudnn", "nccl"):
        header = any(os.path.exists(os.path.join(folder, f"{name}.h")) for folder in folders)
        found = [each for folder in beside for each in sorted(glob.glob(os.path.join(folder, f"lib{name}.so*")))]
        yield name, header, found[0] if found else None


for name, header, library in nvidia_parts(config.cuda_include):
    if header:
        config.available_features.add(f"header-{name}")
    if library:
        config.available_features.add(f"library-{name}")
        config.substitutions.append((f"%library-{name}", library))
config.substitutions += [
    ("%check-header", f"{config.cxx} -std=c++20 -fsyntax-only -Wall -Werror"
                      f" -I {config.dtcc_source} -isystem {config.cuda_include}"),
    ("%cxx", config.cxx),
]

emulator = os.path.join(config.dtcc_build, "tests", "emulator")
real_gpus = os.environ.get("DTCC_TEST_GPUS") == "real"
if real_gpus:
    config.available_features.add("real-gpu")
    config.environment["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH", "")
config.substitutions.append(("%emulated", "env" if real_gpus else f"env LD_LIBRARY_PATH={emulator} DTCC_EMULATED_GPUS=4"))
own_kernels = os.path.join(config.dtcc_build, "runtime", "cuda", "kernels", "Copy.ptx")
if real_gpus or os.path.exists(os.path.join(emulator, "libcuda.so.1")) and os.path.exists(own_kernels):
    config.available_features.add("emulated-gpu")
if os.path.isdir(config.shared_models):
    config.available_features.add("shared-models")
if platform.machine() == "x86_64":
    config.available_features.add("x86")
    with open("/proc/cpuinfo") as file:
        if "avx512f" in file.read():
            config.available_features.add("avx512")
if not config.sanitized:
    config.available_features.add("own-signals")
    # Programs are linked by whatever c++ the path has, so that a test can put its own there.
    config.available_features.add("linker-by-path")
own_mounts = "unshare --user --map-root-user --mount"
if shutil.which("unshare") and subprocess.run([*own_mounts.split(), "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0:
    config.available_features.add("own-mounts")
    config.substitutions.append(("%own-mounts", own_mounts))
if config.mpirun and "NOTFOUND" not in config.mpirun:
    config.available_features.add("mpi")
if subprocess.run([config.python, "-c", "import onnx"], capture_output=True).returncode == 0:
    config.available_features.add("python-onnx")
browser = shutil.which("chromium")
if browser:
    config.available_features.add("chromium")
    config.substitutions.append(("%chromium", browser))
if shutil.which("ptxas"):
    config.available_features.add("ptxas")
if os.path.exists(torch_python):
    look = "from importlib.util import find_spec as f; print(*[m for m in ('torch', 'transformers', 'torchvision', 'onnxruntime', 'safetensors', 'tensorboard', 'pyarrow', 'peft') if f(m)])"
    found = subprocess.run([torch_python, "-c", look], capture_output=True, text=True).stdout.split()
    config.available_features.update("python-" + module for module in found)
