if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" flags)

message(STATUS "heddle ${PROJECT_VERSION}")
message(STATUS "  compiler    ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, "
               "${CMAKE_BUILD_TYPE}: ${CMAKE_CXX_FLAGS} ${${flags}}")
message(STATUS "  sanitizers  ${HEDDLE_SANITIZE}")
message(STATUS "  BLAS        ${BLAS_LIBRARIES}")
message(STATUS "  CUDA        ${heddle_cuda_choice}")
message(STATUS "  also built  tests ${HEDDLE_TESTS}, examples ${HEDDLE_EXAMPLES}, "
               "benchmarks ${HEDDLE_BENCHMARKS}")
