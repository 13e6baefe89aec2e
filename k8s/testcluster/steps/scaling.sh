# ocr has no pod when there is nothing to recognise, several when there is, and none afterwards.
# shellcheck shell=bash disable=SC2154

step_scaling() {
  wait_for 180 'ocr without pods' has_replicas ocr 0
  say 'ocr has no pod: nothing to do'
  # However fast one pod reads, more waits for it when the autoscaler looks, which it does every 15 s: every 3 s a wave is sent.
  local waves=0 most=0 senders=() sender
  while ((most < 2 && waves < 40)); do
    send_scans "$waves" &
    senders+=($!)
    waves=$((waves + 1))
    for _ in 1 2 3; do
      look_at_ocr
      sleep 1
    done
  done
  for sender in "${senders[@]}"; do
    while kill -0 "$sender" 2>/dev/null; do
      look_at_ocr
      sleep 1
    done
    wait "$sender" || fail "not every scan succeeded: $(tail -q -n 3 "$logs"/scaling-*.log)"
  done
  ((most >= 2)) || fail "ocr had $most pods at most, want 2 or more"
  say "$waves times 12 scans are recognised by up to $most pods"
  wait_for 180 'ocr without pods again' has_replicas ocr 0
  say 'ocr has no pod again'
}

# send_scans WAVE sends 12 scans and waits until they are recognised.
send_scans() {
  local i files=()
  for ((i = 0; i < 12; i++)); do
    files+=("$dir/scan-$1-$i.pdf")
    # Some bytes after the end make each another document.
    { cat "$corpus/ocr/tess/tess-phototest.pdf" && echo "%$1-$i"; } >"${files[-1]}"
  done
  client submit --wait --ocr force -o json "${files[@]}" >"$logs/scaling-$1.json" 2>"$logs/scaling-$1.log"
}

# look_at_ocr notes in most how many pods ocr has had.
look_at_ocr() {
  local now
  now=$(replicas ocr)
  if ((now > most)); then
    most=$now
    say "ocr has $now pods"
  fi
}
