# Runs ${PROGRAM} ${WAY} ${TIMES} times: each run ends with exit code ${CODE} within ${SECONDS}
# seconds and prints nothing, or on standard error what SAYS matches.
set(says "^$")
if(DEFINED SAYS)
  set(says "${SAYS}")
endif()
foreach(time RANGE 1 ${TIMES})
  execute_process(COMMAND ${PROGRAM} ${WAY} RESULT_VARIABLE code OUTPUT_VARIABLE printed
                  ERROR_VARIABLE complained TIMEOUT ${SECONDS})
  if(NOT code STREQUAL "${CODE}" OR NOT printed STREQUAL "" OR NOT complained MATCHES "${says}")
    message(FATAL_ERROR "run ${time} of \"${WAY}\": exit code ${code}, expected ${CODE}; "
                        "printed: ${printed}${complained}")
  endif()
endforeach()
