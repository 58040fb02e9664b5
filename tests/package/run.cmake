# Installs the build into a fresh prefix, then configures, builds and runs the outside project against it.
# Needs BUILD_DIR, SOURCE_DIR, WORK_DIR, GENERATOR, CXX.
file(REMOVE_RECURSE ${WORK_DIR})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed with ${status}: ${ARGN}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR}/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
run(${WORK_DIR}/prefix/bin/headscope run --analyses parameters --nulls 2 --figures svg --quiet
  --output ${WORK_DIR}/out)
file(READ ${WORK_DIR}/out/report.md report)
if(NOT report MATCHES "${WORK_DIR}/prefix/share/headscope/default-model.h5")
  message(FATAL_ERROR "expected the installed default model to be used, got another")
endif()
