# The Python module (cli/python) needs pybind11 and Python's headers, and that all that is linked
# into it is position-independent. Without them everything else builds.
option(PREQUEL_PYTHON_MODULE "Build the Python module where pybind11 is there" OFF)

set(PREQUEL_PYTHON_MODULE_MISSING "PREQUEL_PYTHON_MODULE is off")
if(PREQUEL_PYTHON_MODULE)
  # This holds even if the module cannot be built yet: what is compiled now serves once it can.
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  if(NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python_EXECUTABLE /usr/bin/python3)  # python3 on PATH may be another than Debian's
  endif()
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module QUIET)
  set(PYBIND11_FINDPYTHON ON)
  find_package(pybind11 2.10 CONFIG QUIET)
  if(NOT Python_FOUND OR NOT pybind11_FOUND)
    set(PREQUEL_PYTHON_MODULE OFF)
    set(PREQUEL_PYTHON_MODULE_MISSING "Python 3.11's headers or pybind11 2.10 were not found")
  endif()
endif()
