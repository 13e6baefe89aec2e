// Package k8s tests the manifests in this folder: kustomize builds them, and the tests check what schemas do not say of
// the objects.
package k8s
