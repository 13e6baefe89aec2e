#!/usr/bin/env bash
# schemas.sh: writes the schemas in k8s/testdata/schemas, of the kinds that are used in k8s, from the modules of Kubernetes, KEDA and the Gateway API.
set -euo pipefail
cd "$(dirname "$0")"

kinds=Namespace,ServiceAccount,Secret,ConfigMap,Service,PersistentVolumeClaim,PersistentVolume,Deployment,StatefulSet,DaemonSet,Job,PodDisruptionBudget
kinds+=,NetworkPolicy,Ingress,ScaledObject,TriggerAuthentication,Gateway,HTTPRoute,GRPCRoute

# module PATH@VERSION prints the folder of a module, which is outside of any go.mod.
module() { (cd / && go mod download -json "$1") | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

kubernetes=$(module k8s.io/kubernetes@v1.35.4)
keda=$(module github.com/kedacore/keda/v2@v2.20.2)
gateway=$(module sigs.k8s.io/gateway-api@v1.4.0)
out=$PWD/../../k8s/testdata/schemas
rm -rf "$out"
GOWORK=off go run ./schemas -out "$out" -kinds "$kinds" "$kubernetes/api/openapi-spec/swagger.json" \
  "$keda"/config/crd/bases/keda.sh_{scaledobjects,triggerauthentications}.yaml \
  "$gateway"/config/crd/standard/gateway.networking.k8s.io_{gateways,httproutes,grpcroutes}.yaml
