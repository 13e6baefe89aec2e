# A developer's way: tilt ci until everything is ready, then tilt up and a change in a service's source.
# shellcheck shell=bash disable=SC2154

registry=127.0.0.1:5066

step_tilt() {
  k delete namespace inkstream --ignore-not-found --wait=false >/dev/null
  k -n inkstream delete pods --all --force --grace-period=0 >/dev/null 2>&1 || true
  docker_up
  serve_registry
  wait_for 180 'the end of the cluster overlay' namespace_is_gone
  local tree=$dir/tree pod
  rm -rf "$tree"
  mkdir -p "$tree/.bin"
  cp "$root"/.bin/libpdfium-*.a "$tree/.bin" 2>/dev/null || true # or make compiles it, for minutes
  git -C "$root" ls-files -z --cached --others --exclude-standard | tar -C "$root" --null --files-from - --ignore-failed-read -c | tar -C "$tree" -x
  export INKSTREAM_TILT_CONTEXT=testcluster INKSTREAM_TILT_NETWORK=host TILT_DISABLE_ANALYTICS=1 DOCKER_BUILDKIT=1
  (cd "$tree" && inside k8s tilt ci --web-mode=prod --timeout 15m >"$logs/tilt-ci.log" 2>&1) || fail "tilt ci: $(tail -n 5 "$logs/tilt-ci.log")"
  say 'tilt ci is green'
  (cd "$tree" && inside k8s setsid tilt up --stream --web-mode=prod >"$logs/tilt-up.log" 2>&1) &
  wait_for 120 'the port of the gateway' inside k8s curl --silent --fail --output /dev/null http://localhost:8080/readyz
  (cd "$tree" && inside k8s bin/inkstream --api-key-file k8s/overlays/single/secrets/admin.key submit --wait --dedupe=false \
    "$corpus/pdf/pdfbox-PDFBOX-3062-002207-p1.pdf" >"$logs/tilt-document.log" 2>&1) || fail 'a document did not succeed on what Tilt deployed'
  wait_for 60 'Tilt watching scan' grep -q 'scan.*│' "$logs/tilt-up.log"
  pod=$(scan_pod)
  printf '\nfunc init() { println("a change that is seen") }\n' >>"$tree/services/scan/scan.go"
  local changed=$SECONDS
  wait_for 180 'the changed program in the pod' change_is_seen "$pod"
  [ "$(scan_pod)" = "$pod" ] || fail 'the pod was replaced: no live update'
  say "a change of scan runs in the same pod after $((SECONDS - changed)) s"
}

namespace_is_gone() { ! k get namespace inkstream; }
scan_pod() { k -n inkstream get pod -l app.kubernetes.io/name=scan -o jsonpath='{.items[*].metadata.name} {.items[*].status.containerStatuses[0].restartCount}'; }
change_is_seen() { k -n inkstream logs "${1% *}" | grep -q 'a change that is seen'; }

# serve_registry starts a registry where the Docker daemon pushes, and one where the cluster pulls: two networks, one folder. Tilt learns of it as every
# client does (KEP-1755).
serve_registry() {
  cat >"$dir/registry.yaml" <<-YAML
	version: 0.1
	storage: {filesystem: {rootdirectory: $dir/registry}}
	http: {addr: $registry}
	YAML
  inside docker setsid docker-registry serve "$dir/registry.yaml" >"$logs/registry-push.log" 2>&1 &
  inside k8s setsid docker-registry serve "$dir/registry.yaml" >"$logs/registry-pull.log" 2>&1 &
  k apply -f - >/dev/null <<-YAML
	apiVersion: v1
	kind: ConfigMap
	metadata: {name: local-registry-hosting, namespace: kube-public}
	data: {localRegistryHosting.v1: 'host: "$registry"'}
	YAML
  wait_for 20 'the registry' inside k8s curl --silent --fail --output /dev/null "http://$registry/v2/"
}
