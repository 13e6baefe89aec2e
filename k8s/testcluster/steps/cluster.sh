# A Kubernetes of one node, every manifest in front of its API server, and the cluster's overlay on it.
# shellcheck shell=bash disable=SC2154

step_cluster() {
  make -C "$root" --no-print-directory build
  stop k8s
  rm -f "$dir/state/ready"
  isolate k8s own "$here/cluster.sh" "$dir"
  wait_for 420 'the node' test -e "$dir/state/ready"
  say 'the node is ready'
  k apply -f "$here/manifests/dns.yaml" >/dev/null
  k apply --server-side -f "$dir/keda.yaml" >/dev/null
  rm -rf "$dir/k8s"
  cp -r "$root/k8s" "$dir/k8s"
  rm -rf "$dir"/k8s/overlays/*/secrets
  local overlay
  for overlay in single cluster; do
    INKSTREAM=$root/bin/inkstream "$dir/k8s/secrets.sh" $overlay >/dev/null
  done
  k apply -f "$dir/k8s/base/namespace.yaml" >/dev/null
  check_manifests
  k -n keda wait --for=condition=Available deployment --all --timeout=180s >/dev/null
  k -n kube-system wait --for=condition=Available deployment --all --timeout=60s >/dev/null
  k wait --for=condition=Available apiservice/v1beta1.external.metrics.k8s.io --timeout=120s >/dev/null
  say 'DNS and KEDA are available'
  k apply -k "$dir/k8s/testcluster/overlay" >/dev/null
  k -n inkstream rollout status statefulset --timeout=240s nats >/dev/null
  k -n inkstream wait --for=condition=Complete job --all --timeout=240s >/dev/null
  k -n inkstream wait --for=condition=Available deployment --all --timeout=240s >/dev/null
  say 'the cluster overlay is deployed and available'
  wait_for 60 'a ready gateway' client list
}

# check_manifests lets the API server judge what kustomize builds of each overlay, strictly. A warning, such as of a pod that is not "restricted", fails.
check_manifests() {
  local folder out
  for folder in overlays/single overlays/cluster overlays/dev testcluster/overlay; do
    out=$(k apply --dry-run=server --validate=strict -k "$dir/k8s/$folder" 2>&1) || fail "$folder is refused: $out"
    if grep -i '^warning' <<<"$out"; then
      fail "$folder: the API server warns"
    fi
    say "the API server takes $folder: $(wc -l <<<"$out") objects"
  done
  out=$(k apply --dry-run=server --validate=strict -f "$dir/k8s/examples/ingress.yaml" 2>&1) || fail "examples/ingress.yaml is refused: $out"
}
