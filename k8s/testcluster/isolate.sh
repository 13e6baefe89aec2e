#!/usr/bin/env bash
# isolate.sh NAME COMMAND...: runs a command as the first process of its own namespaces: mounts, processes, IPC, host name, cgroups, and with
# NETWORK=own the network, which then has no way out. Ending that process ends everything it started and removes its mounts. The cgroups lie inside
# those of the caller, so the command shares the caller's weight on the processors. enter.sh runs more commands in the same namespaces.
#
# It needs root, cgroup v1 controllers in /sys/fs/cgroup, unshare and tini.
set -euo pipefail
name=$1
shift
groups=()
for controller in /sys/fs/cgroup/*/; do
  c=$(basename "$controller")
  if [ "$c" = unified ]; then
    continue
  fi
  own=$(sed -n "s/^[0-9]*:\(name=\)\?$c://p" /proc/self/cgroup)
  group=$controller${own#/}/inkstream-$name
  mkdir -p "$group"
  if [ "$c" = cpuset ]; then
    cat "$(dirname "$group")/cpuset.cpus" >"$group/cpuset.cpus"
    cat "$(dirname "$group")/cpuset.mems" >"$group/cpuset.mems"
  fi
  groups+=("$group")
done
network=()
if [ "${NETWORK:-host}" = own ]; then
  network=(--net)
fi
export ISOLATED_COMMAND
ISOLATED_COMMAND=$(printf '%q ' "$@")
(
  for group in "${groups[@]}"; do
    echo $BASHPID >"$group/cgroup.procs"
  done
  exec unshare --mount --pid --fork --kill-child=SIGKILL --cgroup --ipc --uts "${network[@]}" --propagation private --mount-proc bash -c '
    set -euo pipefail
    for d in /sys/fs/cgroup/*/; do
      c=$(basename "$d")
      umount "$d"
      case $c in
      unified) mount -t cgroup2 none "$d" ;;
      systemd) mount -t cgroup -o none,name=systemd none "$d" ;;
      *) mount -t cgroup -o "$c" none "$d" ;;
      esac
    done
    # kubelet sets these for the whole machine: files stand in for them.
    stand_ins=$(mktemp -d)
    mount -t tmpfs tmpfs "$stand_ins"
    for v in vm/overcommit_memory:1 kernel/panic:10 kernel/panic_on_oops:1 vm/panic_on_oom:0 kernel/keys/root_maxkeys:1000000 kernel/keys/root_maxbytes:25000000; do
      f=$stand_ins/$(echo "${v%%:*}" | tr / _)
      echo "${v##*:}" >"$f"
      if [ -e "/proc/sys/${v%%:*}" ]; then
        mount --bind "$f" "/proc/sys/${v%%:*}"
      fi
    done
    ip link set lo up 2>/dev/null || true
    eval "exec tini -- $ISOLATED_COMMAND"
  '
) &
outer=$!
# The first process inside, by its number out here.
first=
for _ in $(seq 100); do
  first=$(pgrep -P $outer || true)
  if [ -n "$first" ]; then
    break
  fi
  sleep .1
done
mkdir -p /run/inkstream-testcluster
echo "$first" >"/run/inkstream-testcluster/$name"
trap 'kill -KILL "$first"' TERM INT
status=0
wait $outer || status=$?
for _ in $(seq 20); do
  if find /sys/fs/cgroup -depth -type d -path "*/inkstream-$name*" -exec rmdir {} + 2>/dev/null; then
    break
  fi
  sleep .2
done
rm -f "/run/inkstream-testcluster/$name"
exit $status
