# The library's own test suite; its TAP becomes JUnit XML, so that a test that is gone is missed by name.
mkdir -p reports
node node_modules/tape/bin/tape test/*.js > unit.tap
status=$?
node /plan/tap_to_junit.js < unit.tap > reports/unit.xml
tail -n 5 unit.tap
exit $status
