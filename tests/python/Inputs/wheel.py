# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel of a build, installed in a fresh environment: wheel.py SOURCE BUILD FOLDER.

It compiles and runs there, by its own commands and tools alone. Exit status 77 says that it cannot be tried here.
"""
import os
import re
import shutil
import subprocess
import sys

source, build, folder = map(os.path.abspath, sys.argv[1:])
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
os.chdir(folder)


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def call(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


pip = ("python3", "-m", "pip", "-q", "--disable-pip-version-check")
if subprocess.run([*pip, "--version"], capture_output=True).returncode:
    skip("python3 has no pip")
with open(os.path.join(source, "python", "pyproject.toml"), encoding="utf-8") as file:
    setuptools = re.search(r'requires = \["(.*)"\]', file.read()).group(1)
if subprocess.run([*pip, "download", "--no-deps", "--retries=1", "--timeout=15", "-d", "network", setuptools],
                  capture_output=True).returncode:
    skip(f"PyPI does not give {setuptools}: there is no network")
print(call(os.path.join(source, "tools", "wheel"), "out", build), end="")
(wheel,) = os.listdir("out")
assert re.fullmatch(r"dtcc-[0-9.]+-py3-none-linux_\w+\.whl", wheel), wheel

call("python3", "-m", "venv", "env")
call("env/bin/python", "-m", "pip", "install", "-q", "--no-index", "--no-deps", os.path.join("out", wheel))
# No other dtcc can be found from here.
clean = {"PATH": os.pathsep.join([os.path.join(folder, "env", "bin"), "/usr/bin", "/bin"]), "HOME": folder}
assert shutil.which("dtcc", path="/usr/bin:/bin") is None or skip("another dtcc is installed in /usr/bin")
place = call("env/bin/python", "-c", "import dtcc.tools; print(dtcc.tools.find('dtcc'))", env=clean).strip()
assert place.startswith(os.path.join(folder, "env", "lib")), place
assert call("dtcc", "--version", env=clean) == call(os.path.join(build, "bin", "dtcc"), "--version")
assert "dtcc-plan COMMAND" in call("dtcc-plan", "--help", env=clean)
model = os.path.join(source, "tests", "frontends", "onnx", "Inputs", "gpt2", "loss.onnx")
print(call("env/bin/python", os.path.join(source, "tests", "python", "Inputs", "drive.py"), model, env=clean), end="")
assert subprocess.run(["dtcc", "none.onnx"], env=clean, capture_output=True).returncode == 1
shutil.rmtree(folder)
