# cmake -DPROGRAM=… -P same_results.cmake
#
# Succeeds if the program's numbers, but for the times, are the same with any number of CPU workers.

foreach(workers 1 2 3 8)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env HEDDLE_CPU_WORKERS=${workers} ${PROGRAM}
                          --epochs 1 --seed 3 RESULT_VARIABLE exit_code OUTPUT_VARIABLE output)
  if(NOT exit_code EQUAL 0 OR NOT output MATCHES "result: (accuracy=[0-9.]+ loss=[0-9.]+) ")
    message(FATAL_ERROR "${workers} workers: exit code ${exit_code}, output:\n${output}")
  endif()
  message(STATUS "${workers} workers: ${CMAKE_MATCH_1}")
  list(APPEND results "${CMAKE_MATCH_1}")
endforeach()
list(REMOVE_DUPLICATES results)
list(LENGTH results count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "the results differ: ${results}")
endif()
