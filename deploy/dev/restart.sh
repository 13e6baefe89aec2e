#!/usr/bin/env bash
# Runs /app/$PROGRAM with the arguments, and runs it anew when its file has been replaced. When the program ends by itself, so does this.
set -u
program=/app/$PROGRAM

# version prints what changes while the file is replaced.
version() { stat -c '%i %s %Y' "$program" 2>/dev/null || echo none; }

while :; do
  running=$(version)
  "$program" "$@" &
  pid=$!
  trap 'kill -TERM $pid; wait $pid; exit' TERM INT
  while [ "$(version)" = "$running" ]; do
    if ! kill -0 $pid 2>/dev/null; then
      wait $pid
      exit
    fi
    sleep 0.3
  done
  # A file that is still being written cannot be run.
  until written=$(version) && sleep 0.5 && [ "$written" != none ] && [ "$(version)" = "$written" ]; do :; done
  kill -TERM $pid
  wait $pid
done
