# HEDDLE_CUDA names the choice; no source of this version is CUDA code, so there is only one answer.

set_property(CACHE HEDDLE_CUDA PROPERTY STRINGS AUTO ON OFF)
if(HEDDLE_CUDA STREQUAL AUTO)
  find_program(HEDDLE_NVCC nvcc PATHS /usr/local/cuda/bin DOC "The CUDA compiler")
elseif(HEDDLE_CUDA)
  message(FATAL_ERROR "HEDDLE_CUDA is \"${HEDDLE_CUDA}\": expected AUTO or OFF, as this version of "
                      "heddle has no CUDA code to build")
endif()
