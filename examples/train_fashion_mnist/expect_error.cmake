# cmake -DPROGRAM=… -DARGUMENTS=a;b;… -DEXIT_CODE=n -DMESSAGE=regex -P expect_error.cmake
#
# Succeeds if the program ends with EXIT_CODE and prints exactly one line, which matches MESSAGE, on
# standard error.

execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} RESULT_VARIABLE exit_code ERROR_VARIABLE message
                OUTPUT_QUIET)
if(NOT exit_code STREQUAL EXIT_CODE)
  message(FATAL_ERROR "exit code ${exit_code}, expected ${EXIT_CODE}; standard error: ${message}")
endif()
if(NOT message MATCHES "^[^\n]*\n$" OR NOT message MATCHES "${MESSAGE}")
  message(FATAL_ERROR "standard error: ${message}\nexpected one line that matches: ${MESSAGE}")
endif()
