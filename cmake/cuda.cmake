# Chooses the CUDA backend: HEDDLE_CUDA is AUTO (if there is an nvcc that is new enough, and no
# sanitizer, as nothing of it runs in those builds), ON or OFF. Sets heddle_cuda to ON or OFF, and
# heddle_cuda_choice to what the summary says about it.

include(CheckLanguage)

set_property(CACHE HEDDLE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(heddle_cuda OFF)
set(heddle_cuda_choice "off")
set(least_cuda 13.0)

# Why there is no CUDA backend: an error if it was asked for.
function(heddle_no_cuda reason)
  if(NOT HEDDLE_CUDA STREQUAL AUTO)
    message(FATAL_ERROR "HEDDLE_CUDA is \"${HEDDLE_CUDA}\", but ${reason}")
  endif()
  set(heddle_cuda_choice "off: ${reason}" PARENT_SCOPE)
endfunction()

if(HEDDLE_CUDA)
  find_program(HEDDLE_NVCC nvcc HINTS ENV CUDACXX PATHS /usr/local/cuda/bin
               DOC "The CUDA compiler")
  if(HEDDLE_CUDA STREQUAL AUTO AND HEDDLE_SANITIZE)
    heddle_no_cuda("sanitizers are on")
  elseif(NOT HEDDLE_NVCC AND NOT CMAKE_CUDA_COMPILER)
    heddle_no_cuda("no nvcc was found")
  else()
    # Before the language is enabled, which would choose for itself.
    if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER)
      set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    if(NOT DEFINED CMAKE_CUDA_COMPILER)
      set(ENV{CUDACXX} ${HEDDLE_NVCC})
      check_language(CUDA) # leaves NOTFOUND where nvcc does not get along with the C++ compiler
    endif()
    if(CMAKE_CUDA_COMPILER)
      enable_language(CUDA)
    endif()
    if(NOT CMAKE_CUDA_COMPILER)
      heddle_no_cuda("${HEDDLE_NVCC} does not work with ${CMAKE_CUDA_HOST_COMPILER}")
    elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS least_cuda)
      heddle_no_cuda("nvcc ${CMAKE_CUDA_COMPILER_VERSION} is older than ${least_cuda}")
    else()
      find_package(CUDAToolkit ${least_cuda} REQUIRED)
      set(heddle_cuda ON)
      set(heddle_cuda_choice "on: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
    endif()
  endif()
endif()

if(heddle_cuda)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 stops at C++17
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  # Without contraction to fused multiply-add, as on the CPU: what is computed with additions,
  # multiplications, divisions and square roots has the same bits there and here.
  # Warning 186 is about templates that compare elements with zero, for unsigned types.
  set(cuda_options --expt-relaxed-constexpr --extended-lambda --fmad=false --diag-suppress=186
                   -Xcompiler=-Wall,-Wextra,-Wshadow)
  if(HEDDLE_WERROR)
    list(APPEND cuda_options --Werror=all-warnings -Xcompiler=-Werror)
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>")
  add_compile_definitions("$<$<COMPILE_LANGUAGE:CUDA>:HEDDLE_HOST_DEVICE=__host__ __device__>")
endif()

# heddle_cuda_sources(WITH file… WITHOUT file…): the sources of heddle in the current folder that
# depend on the choice.
function(heddle_cuda_sources)
  cmake_parse_arguments(arg "" "" "WITH;WITHOUT" ${ARGN})
  if(heddle_cuda)
    target_sources(heddle PRIVATE ${arg_WITH})
  else()
    target_sources(heddle PRIVATE ${arg_WITHOUT})
  endif()
endfunction()
