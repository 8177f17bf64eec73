#!/bin/sh
# Runs a command with a /tmp in memory: in_memory.sh COMMAND [ARGUMENT ...]
# Thousands of small state folders make a disk the slowest part of the tests. A test that needs a disk uses /var/tmp. The existing /tmp is
# used when less than 12 GiB are free, this folder lies in /tmp, the caller may not mount (root may), or tmpfs has no user.* attributes
# (before Linux 6.6). Without those attributes an ordinary user's overlay behaves differently.
set -eu
mine() {
  # shellcheck disable=SC2016
  unshare --mount sh -c 'mount -t tmpfs -o mode=1777,size=8g pawl-tests /tmp && exec "$@"' sh "$@"
}
free_gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)  # of a container
case $limit in
max) ;;
*) [ $((limit >> 30)) -ge "$free_gib" ] || free_gib=$((limit >> 30)) ;;
esac
case $(pwd -P)/ in
/tmp/*) free_gib=0 ;;
esac
if [ "$free_gib" -ge 12 ] && mine python3 -c 'import os; os.setxattr("/tmp", "user.pawl", b"")' 2>/dev/null; then
  echo "/tmp is in memory"
  mine "$@"
else
  echo "/tmp is as it is"
  exec "$@"
fi
