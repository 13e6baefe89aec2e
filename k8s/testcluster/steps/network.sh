# Connections that the NetworkPolicies allow and forbid, tried from pods of the services.
# shellcheck shell=bash disable=SC2154

step_network() {
  local wrong=0 from host port want got
  while read -r from host port want; do
    got=$(connect "$from" "$host" "$port")
    if [ "$got" != "$want" ]; then
      echo "k8s-test: from $from to $host:$port: $got, want $want" >&2
      wrong=1
    fi
  done <<-'TABLE'
	deploy/ingest nats 4222 open
	deploy/ingest s3 7070 open
	deploy/ingest nats 8222 closed
	deploy/ingest nats-peers 6222 closed
	deploy/ingest gateway 80 closed
	deploy/ingest clickhouse 9000 closed
	deploy/ingest 10.50.0.1 6443 closed
	deploy/ingest kubernetes.default 443 closed
	deploy/render index-ops 9100 open
	deploy/render ingest-ops 9100 closed
	deploy/index clickhouse 9000 open
	deploy/index clickhouse 8123 closed
	deploy/index s3 7070 open
	deploy/gateway clickhouse 9000 open
	deploy/gateway 10.50.0.1 6443 closed
	statefulset/clickhouse gateway 80 closed
	TABLE
  ((wrong == 0)) || fail 'the NetworkPolicies do not do what they should'
  say 'the network lets through what it should, and nothing else that was tried'
}

# connect FROM HOST PORT prints open or closed. NAME-ops is the address of a pod of the service NAME.
connect() {
  local address
  case $2 in
  [0-9]*) address=$2 ;;
  *-ops) address=$(k -n inkstream get pod -l "app.kubernetes.io/name=${2%-ops}" --field-selector status.phase=Running -o jsonpath='{.items[0].status.podIP}') ;;
  # A name that is not found would look like a closed port.
  *) address=$(k -n inkstream exec "$1" -- getent hosts "$2" | awk '{print $1; exit}') ;;
  esac
  if [ -z "$address" ]; then
    echo 'unknown'
  elif k -n inkstream exec "$1" -- timeout 3 bash -c "exec 3<>/dev/tcp/$address/$3" >/dev/null 2>&1; then
    echo open
  else
    echo closed
  fi
}
