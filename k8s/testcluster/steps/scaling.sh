# ocr has no pod when there is nothing to recognise, several when there is, and none afterwards.
# shellcheck shell=bash disable=SC2154

step_scaling() {
  wait_for 180 'ocr without pods' has_replicas ocr 0
  say 'ocr has no pod: nothing to do'
  local scans=12 most=0 now out=$logs/scaling.json files=()
  for ((i = 0; i < scans; i++)); do
    files+=("$dir/scan-$i.pdf")
    # A byte after the end makes each another document.
    { cat "$corpus/ocr/tess/tess-phototest.pdf" && echo "%$i"; } >"${files[-1]}"
  done
  client submit --wait --ocr force -o json "${files[@]}" >"$out" 2>"$logs/scaling.log" &
  local sending=$!
  while kill -0 "$sending" 2>/dev/null; do
    now=$(replicas ocr)
    if ((now > most)); then
      most=$now
      say "ocr has $now pods"
    fi
    sleep 1
  done
  wait "$sending" || fail "not every scan succeeded: $(tail -n 3 "$logs/scaling.log")"
  ((most >= 2)) || fail "ocr had $most pods at most, want 2 or more"
  say "$scans scans are recognised by up to $most pods"
  wait_for 180 'ocr without pods again' has_replicas ocr 0
  say 'ocr has no pod again'
}
