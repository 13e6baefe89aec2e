#!/bin/bash
# trim-keda.sh MODULE_DIR OUT: a copy of KEDA without the scalers and secret stores of the clouds, to be built from with "replace ... => ./keda".
# go build -overlay would be neater, but refuses files in the module cache. With this, KEDA is a few hundred packages on top of Kubernetes, and none of the clouds SDKs.
set -euo pipefail
keda=$1; out=$2
rm -rf "$out"; mkdir -p "$out"
cp -r "$keda"/{apis,cmd,config,controllers,pkg,version,go.mod} "$out/"
chmod -R u+w "$out"
find "$out" -name '*_test.go' -delete
for f in "$out"/pkg/scalers/*.go; do
	case $(basename "$f") in
	scaler.go | nats_jetstream_scaler.go | cpu_memory_scaler.go | cron_scaler.go) ;;
	*) rm "$f" ;;
	esac
done
sed -i -E '/^\tswitch triggerType \{/,/^\tdefault:/{
	/^\tcase /{h;d}
	/^\tswitch|^\tdefault/b
	/(NewNATSJetStreamScaler|NewCPUMemoryScaler|NewCronScaler)\(/{H;g;b}
	d
}' "$out/pkg/scaling/scalers_builder.go"
rm "$out"/pkg/scaling/resolver/{hashicorpvault,aws_secretmanager,azure_keyvault,gcp_secretmanager}_handler.go
cat >"$out/pkg/scaling/resolver/clouds.go" <<'GO'
package resolver

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers/authentication"
)

var errLeftOut = errors.New("left out of this build")

type leftOut struct{}

func (leftOut) Stop() {}

type vaultHandler struct{ leftOut }

func NewHashicorpVaultHandler(*kedav1alpha1.HashiCorpVault, *authentication.AuthClientSet, string) vaultHandler {
	return vaultHandler{}
}
func (vaultHandler) Initialize(logr.Logger) error { return errLeftOut }
func (vaultHandler) ResolveSecrets([]kedav1alpha1.VaultSecret) ([]kedav1alpha1.VaultSecret, error) {
	return nil, errLeftOut
}

type keyHandler struct{ leftOut }

func NewAzureKeyVaultHandler(*kedav1alpha1.AzureKeyVault) keyHandler { return keyHandler{} }
func NewGCPSecretManagerHandler(*kedav1alpha1.GCPSecretManager) keyHandler { return keyHandler{} }
func (keyHandler) Initialize(context.Context, client.Client, logr.Logger, string, corev1listers.SecretLister) error {
	return errLeftOut
}
func (keyHandler) Read(context.Context, string, string) (string, error) { return "", errLeftOut }

type awsHandler struct{ leftOut }

func NewAwsSecretManagerHandler(*kedav1alpha1.AwsSecretManager) awsHandler { return awsHandler{} }
func (awsHandler) Initialize(context.Context, client.Client, logr.Logger, string, corev1listers.SecretLister, *corev1.PodSpec) error {
	return errLeftOut
}
func (awsHandler) Read(context.Context, logr.Logger, string, string, string, string) (string, error) {
	return "", errLeftOut
}
GO
cat >"$out/pkg/eventemitter/azure_event_grid_topic_handler.go" <<'GO'
package eventemitter

import (
	"context"
	"errors"

	"github.com/go-logr/logr"

	eventingv1alpha1 "github.com/kedacore/keda/v2/apis/eventing/v1alpha1"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
)

func NewAzureEventGridTopicHandler(context.Context, string, *eventingv1alpha1.AzureEventGridTopicSpec, map[string]string, kedav1alpha1.AuthPodIdentity, logr.Logger) (EventDataHandler, error) {
	return nil, errors.New("left out of this build")
}
GO
mkdir "$out/config/testcluster"
cp "$(dirname "$0")/manifests/keda-kustomization.yaml" "$out/config/testcluster/kustomization.yaml"
