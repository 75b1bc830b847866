# What every source of this tree is compiled with, and nothing that reaches the users of the
# library: build type, warnings, sanitizers.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# For C++ only: cmake/cuda.cmake has the options of nvcc, which does not know these.
function(heddle_add_cxx_options)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${ARGN}>")
endfunction()

heddle_add_cxx_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion)
# GCC 12 sees an overlapping copy in "text" + std::to_string(n) (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  heddle_add_cxx_options(-Wno-restrict)
endif()
if(HEDDLE_WERROR)
  heddle_add_cxx_options(-Werror)
endif()

if(HEDDLE_SANITIZE)
  heddle_add_cxx_options(-fsanitize=${HEDDLE_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEDDLE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC's manual: instrumented code gives false warnings of this kind.
    heddle_add_cxx_options(-Wno-maybe-uninitialized)
  endif()
endif()

# ThreadSanitizer of GCC 12 and Clang 14 cannot map its shadow where the kernel randomizes 32 bits
# of addresses. Test programs then run without randomization, if the kernel lets us ask for that.
if(HEDDLE_SANITIZE MATCHES thread)
  execute_process(COMMAND setarch --addr-no-randomize true RESULT_VARIABLE refused
                  OUTPUT_QUIET ERROR_QUIET)
  if(NOT refused)
    set(CMAKE_CROSSCOMPILING_EMULATOR setarch --addr-no-randomize)
  endif()
endif()
