# The small corpus, again and again, while everything is killed and replaced. Every document must end as documents.tsv says.
# shellcheck shell=bash disable=SC2154

step_documents() {
  local wave waves=()
  for wave in 1 2 3 4; do
    submit_wave "$wave" &
    waves+=($!)
    case $wave in
    1) kill_pods ;;
    2) lose_nats_server ;;
    3) roll_everything ;;
    esac
  done
  for wave in "${waves[@]}"; do
    wait "$wave" || fail 'a wave of documents did not end as it should'
  done
  check_jobs
  say "$(($(grep -vc '^#' "$here/documents.tsv") * ${#waves[@]})) documents ended as they should"
  # What was found in a document that was worked on amid all of it.
  wait_for 30 'a page that a search finds' found lazy
}

# check_jobs holds every job that was ever acknowledged to documents.tsv.
check_jobs() {
  local want=$logs/jobs.want got=$logs/jobs.got
  wait_for 300 'the end of every job' all_ended
  sed '/^#/d' "$here/documents.tsv" | while IFS=$'\t' read -r file state pages code; do
    printf '%s\t%s\t%s\t%s\n' "$(basename "$file")" "$state" "$pages" "$code"
  done | sort -u >"$want"
  client list --limit 0 -o json | jq -r '.[] | [.filename, .state, .pageCount, (.error.code // "-")] | @tsv' | sort -u >"$got"
  diff "$want" "$got" || fail 'not every job ended as it should'
}
all_ended() { client list --limit 0 -o json | jq -e 'all(.[]; .endTime != null)'; }

found() { client search -o json "$1" | grep -q tess-phototest.pdf; }

# submit_wave N sends the documents, waits for them, and compares what became of them with documents.tsv. A client that was cut off sends them again;
# what the first try had sent is held to the same in check_jobs.
submit_wave() {
  local out=$logs/wave-$1.json files try want=$logs/wave-$1.want got=$logs/wave-$1.got
  mapfile -t files < <(sed '/^#/d' "$here/documents.tsv" | cut -f1)
  cd "$corpus" || return
  for try in 1 2 3 4 5; do
    client submit --wait --dedupe=false --label "wave=$1" -o json "${files[@]}" >"$out" 2>"$logs/wave-$1.log" || true
    # jq 1.6 takes no input at all for a good one.
    if [ -s "$out" ] && jq -e "length == ${#files[@]} and all(.[]; .job.endTime != null)" "$out" >/dev/null 2>&1; then
      break
    fi
    echo "k8s-test: wave $1, try $try: $(tail -n 1 "$logs/wave-$1.log")"
    sleep 2
  done
  sed '/^#/d' "$here/documents.tsv" | sort >"$want"
  jq -r '.[] | [.file, .job.state, .job.pageCount, (.job.error.code // "-")] | @tsv' "$out" | sort >"$got"
  diff "$want" "$got" || return 1
}

# kill_pods ends every pod of every service at once, without a warning, one service after the other.
kill_pods() {
  local service
  for service in gateway ingest scan render ocr index; do
    k -n inkstream delete pod -l "app.kubernetes.io/name=$service" --force --grace-period=0 --wait=false >/dev/null 2>&1
    sleep 2
  done
  say 'pods of every service were killed'
  k -n inkstream wait --for=condition=Available deployment --all --timeout=180s >/dev/null
}

# lose_nats_server ends one of the three without a warning, and waits until it is back and has caught up.
lose_nats_server() {
  k -n inkstream delete pod nats-1 --force --grace-period=0 >/dev/null 2>&1
  k -n inkstream rollout status statefulset/nats --timeout=180s >/dev/null
  k -n inkstream wait --for=condition=Ready pod/nats-1 --timeout=180s >/dev/null
  say 'a NATS server was lost, and is back'
}

# roll_everything replaces every pod, as an update does.
roll_everything() {
  k -n inkstream rollout restart statefulset >/dev/null
  k -n inkstream rollout restart deployment >/dev/null
  k -n inkstream rollout status statefulset/nats --timeout=300s >/dev/null
  local service
  for service in gateway ingest scan render index; do
    k -n inkstream rollout status "deployment/$service" --timeout=240s >/dev/null
  done
  say 'every pod was replaced'
}
