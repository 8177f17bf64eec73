#!/bin/sh
# Runs a command with a /tmp in memory: in_memory.sh COMMAND [ARGUMENT ...]
# Thousands of small state folders on a disk take half of the tests' time. Only root can have a /tmp of its own, and the
# tests want up to 8 GiB: without either, the command runs with the /tmp that is there.
set -eu
free_gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
[ "$(id -u)" = 0 ] && [ "$free_gib" -ge 12 ] || exec "$@"
# shellcheck disable=SC2016
exec unshare --mount sh -c 'mount -t tmpfs -o mode=1777,size=8g pawl-tests /tmp && exec "$@"' sh "$@"
