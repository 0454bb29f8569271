# The lit suite: shell lines against the built tools.
#
# Tools on the path: everything in build/bin, and LLVM's (FileCheck, not, count, split-file, mlir-opt).
#
# Substitutions                          Features
#   %models   ../shared/models             shared-models   the folder exists
#   %inputs   tests/inputs                 mpi             mpirun exists
#   %source   the repository               python-onnx     %python can import onnx
#   %mpirun   mpirun, fit for few cores
#   %python   the build folder's Python
import os
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

config.substitutions += [
    ("%models", config.shared_models),
    ("%inputs", os.path.join(config.test_source_root, "inputs")),
    ("%source", config.dtcc_source),
    ("%python", config.python),
    # Spinning ranks that outnumber the cores are a thousand times slower: they must yield. A hang ends.
    ("%mpirun", "timeout 120 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
                " --mca btl self,vader --mca pml ob1 --mca plm isolated"),
]

if os.path.isdir(config.shared_models):
    config.available_features.add("shared-models")
if config.mpirun and "NOTFOUND" not in config.mpirun:
    config.available_features.add("mpi")
if subprocess.run([config.python, "-c", "import onnx"], capture_output=True).returncode == 0:
    config.available_features.add("python-onnx")
