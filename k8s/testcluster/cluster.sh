#!/usr/bin/env bash
# cluster.sh DIR: a Kubernetes of one node with containerd, in the namespaces that isolate.sh made:
#
#     NETWORK=own isolate.sh k8s cluster.sh DIR
#
# It writes DIR/state anew, and DIR/state/ready when the API server and the node's programs run. It ends when one of them does. The programs are those
# of build.sh, the images those of images.sh and any other archive in DIR/images. DIR/state/admin.kubeconfig is the administrator's, DIR/state/log has
# the logs. Persistent volumes of no class are made beforehand, as folders.
set -euo pipefail
dir=$1
bin=$dir/bin
state=$dir/state
rm -rf "$state"
mkdir -p "$state"/{pki,log,etcd,cni,kubelet,volumes}
node=10.50.0.1
services=10.96.0.0/16
pods=10.244.0.0/24
dns=10.96.0.10

# The node's only interface beside loopback. Nothing leaves these namespaces.
ip link set lo up
ip link add node0 type veth peer name node0-peer
ip link set node0-peer up
ip addr add $node/24 dev node0
ip link set node0 up
ip route add default dev node0
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.route_localnet=1
sysctl -qw net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true
hostname test-node
mount --make-rshared /
mkdir -p /run/testcluster /run/netns /var/lib/kubelet /var/log/pods /var/log/containers
mount -t tmpfs tmpfs /run/testcluster
mount -t tmpfs tmpfs /run/netns
mount --bind "$state/kubelet" /var/lib/kubelet
mount --make-shared /var/lib/kubelet
for d in pods containers; do
  mkdir -p "$state/log/$d"
  mount --bind "$state/log/$d" "/var/log/$d"
done

cd "$state/pki"
openssl genrsa -out sa.key 2048 2>/dev/null
openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
ec=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
for ca in ca front; do
  openssl req -x509 "${ec[@]}" -days 30 -subj "/CN=$ca" -keyout $ca.key -out $ca.crt 2>/dev/null
done

# certificate NAME SUBJECT AUTHORITY [ALTERNATIVE NAMES]
certificate() {
  openssl req -new "${ec[@]}" -subj "$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA "$3.crt" -CAkey "$3.key" -CAcreateserial -days 30 -out "$1.crt" \
    -extfile <(
      echo 'extendedKeyUsage=serverAuth,clientAuth'
      [ -z "${4-}" ] || echo "subjectAltName=$4"
    ) 2>/dev/null
}
names=DNS:localhost,IP:127.0.0.1,IP:10.96.0.1,IP:$node
for suffix in '' .default .default.svc .default.svc.cluster.local; do
  names+=,DNS:kubernetes$suffix
done
certificate apiserver /CN=kube-apiserver ca "$names"
certificate admin /O=system:masters/CN=admin ca
certificate apiserver-kubelet /O=system:masters/CN=apiserver-kubelet ca
certificate kubelet /O=system:nodes/CN=system:node:test-node ca "DNS:test-node,IP:$node"
certificate controllers /CN=system:kube-controller-manager ca
certificate scheduler /CN=system:kube-scheduler ca
certificate proxy /CN=system:kube-proxy ca
certificate front-client /CN=front-proxy-client front
for user in admin kubelet controllers scheduler proxy; do
  cat >"../$user.kubeconfig" <<-YAML
	apiVersion: v1
	kind: Config
	clusters: [{name: testcluster, cluster: {server: "https://$node:6443", certificate-authority: $state/pki/ca.crt}}]
	users: [{name: $user, user: {client-certificate: $state/pki/$user.crt, client-key: $state/pki/$user.key}}]
	contexts: [{name: testcluster, context: {cluster: testcluster, user: $user}}]
	current-context: testcluster
	YAML
done
cd "$state"

start() {
  local name=$1
  shift
  "$@" >"$state/log/$name.log" 2>&1 &
  echo $! >"$state/$name.pid"
}

# until_true SECONDS COMMAND... waits until the command succeeds.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= end)); then
      echo "cluster.sh: not within its time: $*" >&2
      exit 1
    fi
    sleep .2
  done
}

start etcd "$bin/etcd" --data-dir "$state/etcd" --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
  --listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync
start apiserver "$bin/kube-apiserver" --etcd-servers http://127.0.0.1:2379 --advertise-address $node --bind-address 0.0.0.0 --secure-port 6443 \
  --service-cluster-ip-range $services --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged \
  --client-ca-file pki/ca.crt --tls-cert-file pki/apiserver.crt --tls-private-key-file pki/apiserver.key \
  --kubelet-client-certificate pki/apiserver-kubelet.crt --kubelet-client-key pki/apiserver-kubelet.key --kubelet-certificate-authority pki/ca.crt \
  --kubelet-preferred-address-types InternalIP,Hostname \
  --service-account-key-file pki/sa.pub --service-account-signing-key-file pki/sa.key --service-account-issuer https://kubernetes.default.svc.cluster.local \
  --requestheader-client-ca-file pki/front.crt --requestheader-allowed-names front-proxy-client --requestheader-username-headers X-Remote-User \
  --requestheader-group-headers X-Remote-Group --requestheader-extra-headers-prefix X-Remote-Extra- \
  --proxy-client-cert-file pki/front-client.crt --proxy-client-key-file pki/front-client.key --enable-aggregator-routing

# Without CAP_SYS_RESOURCE no process may have a lower score than its parent: restrict_oom_score_adj.
cat >containerd.toml <<-TOML
	version = 2
	root = "$state/containerd"
	state = "/run/testcluster/containerd"
	[grpc]
	  address = "/run/testcluster/containerd.sock"
	[plugins."io.containerd.grpc.v1.cri"]
	  sandbox_image = "testcluster.local/pause:1"
	  restrict_oom_score_adj = true
	  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
	    runtime_type = "io.containerd.runc.v2"
	  [plugins."io.containerd.grpc.v1.cri".cni]
	    bin_dir = "/usr/lib/cni"
	    conf_dir = "$state/cni"
TOML
cat >cni/10-pods.conflist <<-JSON
	{"cniVersion": "1.0.0", "name": "pods", "plugins": [
	  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
	   "ipam": {"type": "host-local", "dataDir": "/run/testcluster/ipam", "ranges": [[{"subnet": "$pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
	  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
start containerd containerd --config containerd.toml
until_true 30 test -S /run/testcluster/containerd.sock
for archive in "$dir"/images/*.tar; do
  ctr -a /run/testcluster/containerd.sock -n k8s.io images import "$archive" >>log/images.log 2>&1
done

until_true 120 "$bin/kubectl" --kubeconfig admin.kubeconfig get --raw /readyz
start controllers "$bin/kube-controller-manager" --kubeconfig controllers.kubeconfig --authentication-kubeconfig controllers.kubeconfig \
  --authorization-kubeconfig controllers.kubeconfig --service-account-private-key-file pki/sa.key --root-ca-file pki/ca.crt \
  --cluster-signing-cert-file pki/ca.crt --cluster-signing-key-file pki/ca.key --use-service-account-credentials --leader-elect=false \
  --horizontal-pod-autoscaler-sync-period 5s --controllers '*,-node-ipam-controller'
start scheduler "$bin/kube-scheduler" --kubeconfig scheduler.kubeconfig --authentication-kubeconfig scheduler.kubeconfig \
  --authorization-kubeconfig scheduler.kubeconfig --leader-elect=false
echo 'nameserver 127.0.0.1' >resolv.conf
cat >kubelet.yaml <<-YAML
	apiVersion: kubelet.config.k8s.io/v1beta1
	kind: KubeletConfiguration
	failCgroupV1: false
	failSwapOn: false
	cgroupDriver: cgroupfs
	enforceNodeAllocatable: []
	containerRuntimeEndpoint: unix:///run/testcluster/containerd.sock
	clusterDNS: [$dns]
	clusterDomain: cluster.local
	resolvConf: $state/resolv.conf
	authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $state/pki/ca.crt}}
	authorization: {mode: Webhook}
	tlsCertFile: $state/pki/kubelet.crt
	tlsPrivateKeyFile: $state/pki/kubelet.key
	evictionHard: {memory.available: 200Mi, nodefs.available: 1%, imagefs.available: 1%}
	imageGCHighThresholdPercent: 100
	imageGCLowThresholdPercent: 99
	maxPods: 110
YAML
start kubelet "$bin/kubelet" --config kubelet.yaml --kubeconfig kubelet.kubeconfig --hostname-override test-node --node-ip $node
cat >proxy.yaml <<-YAML
	apiVersion: kubeproxy.config.k8s.io/v1alpha1
	kind: KubeProxyConfiguration
	mode: iptables
	clusterCIDR: $pods
	hostnameOverride: test-node
	clientConnection: {kubeconfig: $state/proxy.kubeconfig}
	conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
YAML
start proxy "$bin/kube-proxy" --config proxy.yaml
start netpol "$bin/netpol" --kubeconfig "$state/admin.kubeconfig"

volumes=
for i in {1..20}; do
  mkdir -m 0777 "$state/volumes/$i"
  volumes+="
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: volume-$i}
spec:
  capacity: {storage: 100Gi}
  accessModes: [ReadWriteOnce, ReadWriteMany]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: $state/volumes/$i, type: Directory}"
done
"$bin/kubectl" --kubeconfig admin.kubeconfig apply -f - >/dev/null <<<"$volumes"
until_true 60 "$bin/kubectl" --kubeconfig admin.kubeconfig get node test-node
"$bin/kubectl" --kubeconfig admin.kubeconfig wait --for=condition=Ready node/test-node --timeout=120s >/dev/null
touch "$state/ready"
wait -n || true
for f in "$state"/*.pid; do
  kill -0 "$(cat "$f")" 2>/dev/null || echo "cluster.sh: $(basename "$f" .pid) ended" >&2
done
exit 1
