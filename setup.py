"""Builds the Python package: CMake makes the module, and data/ goes into the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
VERSION = re.search(r"project\(prequel VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def pybind11_folder():
    """Where CMake finds pybind11: that of pip where there is one, else the system's."""
    try:
        import pybind11
    except ImportError:
        return []
    return [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]


class BuildWithCMake(build_ext):
    def build_extension(self, extension):
        # PREQUEL_BUILD: a folder that is kept, so that the next wheel takes seconds.
        build = Path(os.environ.get("PREQUEL_BUILD", Path(self.build_temp) / "cmake")).resolve()
        options = ["TESTS", "CUDA", "MPI"]
        subprocess.run(
            ["cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DPREQUEL_PYTHON_MODULE=ON",
             f"-DPython_EXECUTABLE={sys.executable}", *pybind11_folder(),
             *(f"-DPREQUEL_{option}=OFF" for option in options)], check=True)
        subprocess.run(["cmake", "--build", build, "--target", "prequel_python", "--parallel",
                        str(os.cpu_count())], check=True)
        module = next((build / "cli" / "python" / "prequel").glob("_prequel*.so"))
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(module, target)
        for made in ("__init__.pyi", "_fields.py"):
            shutil.copy2(module.parent / made, target.parent)
        subprocess.run(["strip", "--strip-unneeded", target], check=True)
        shutil.copytree(ROOT / "data", target.parent / "data", dirs_exist_ok=True)


setup(
    version=VERSION,
    ext_modules=[Extension("prequel._prequel", sources=[])],
    cmdclass={"build_ext": BuildWithCMake},
)
