# Finds what calibration on GPUs is built with: the CUDA toolkit and, with it, NCCL. Nothing else
# of prequel needs either.
set(PREQUEL_CUDA AUTO CACHE STRING "Measure on NVIDIA GPUs: AUTO (where CUDA is found), ON or OFF")
set_property(CACHE PREQUEL_CUDA PROPERTY STRINGS AUTO ON OFF)

set(PREQUEL_HAS_CUDA OFF)
set(PREQUEL_HAS_NCCL OFF)
if(PREQUEL_CUDA)
  if(PREQUEL_CUDA STREQUAL "AUTO")
    find_package(CUDAToolkit QUIET)
  else()
    find_package(CUDAToolkit REQUIRED)
  endif()
  if(CUDAToolkit_FOUND)
    set(PREQUEL_HAS_CUDA ON)
    find_package(NCCL 2.18 QUIET) # ncclCommSplit
    set(PREQUEL_HAS_NCCL ${NCCL_FOUND})
  endif()
endif()

if(PREQUEL_HAS_NCCL)
  message(STATUS "Measuring on GPUs: CUDA ${CUDAToolkit_VERSION}, NCCL ${NCCL_VERSION}")
elseif(PREQUEL_HAS_CUDA)
  message(STATUS "Measuring on GPUs: CUDA ${CUDAToolkit_VERSION}, no NCCL")
else()
  message(STATUS "Measuring on GPUs: no (PREQUEL_CUDA=${PREQUEL_CUDA})")
endif()
