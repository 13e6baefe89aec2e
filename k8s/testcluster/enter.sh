#!/usr/bin/env bash
# enter.sh NAME COMMAND...: runs a command in the namespaces that isolate.sh NAME made.
set -euo pipefail
name=$1
shift
exec nsenter --target "$(cat "/run/inkstream-testcluster/$name")" --mount --net --pid --ipc --uts --cgroup --wdns="$PWD" -- "$@"
