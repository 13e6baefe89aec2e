module inkstream.dev/k8s/testcluster/tilt

go 1.23

require github.com/tilt-dev/tilt v0.33.0

replace (
	// from buildkit go.mod
	github.com/docker/cli => github.com/docker/cli v20.10.3-0.20220603174727-3e9117b7e241+incompatible
	github.com/docker/docker => github.com/docker/docker v20.10.3-0.20220414164044-61404de7df1a+incompatible
	github.com/moby/buildkit => github.com/tilt-dev/buildkit v0.10.6-tilt-2023-04-05
	
	// Fixes a bug where the apiserver treats
	// "/apis/tilt.dev/v1alpha1" and "/apis/tilt.dev/v1alpha1/"
	// as different urls
	github.com/emicklei/go-restful/v3 => github.com/emicklei/go-restful/v3 v3.9.0

	// can remove if/when https://github.com/pkg/browser/pull/30 is merged
	github.com/pkg/browser => github.com/tilt-dev/browser v0.0.1

	// needed by helm
	go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc => go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc v0.35.0
	go.opentelemetry.io/otel/metric => go.opentelemetry.io/otel/metric v0.31.0

	k8s.io/apimachinery => github.com/tilt-dev/apimachinery v0.27.2-tilt-20230621
)
