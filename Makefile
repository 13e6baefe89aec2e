# Everything that is done with this repository by hand or by CI. Longer scripts are in pkg/tools.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Whatever is built, by make or by a test, is built in one way: code that is compiled with paths and without is compiled twice.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))

MODULES = $(shell go list -m -f '{{.Dir}}')
BUF := .bin/npm/node_modules/.bin/buf
TSC := .bin/npm/node_modules/.bin/tsc
# The tools module is no part of the workspace, so that what the tools need has no say in what the services are built with.
TOOL := GOWORK=off go -C pkg/tools build -o $(CURDIR)/.bin/
PLUGINS := .bin/protoc-gen-go .bin/protoc-gen-go-grpc .bin/protoc-gen-grpc-gateway .bin/protoc-gen-openapiv2

##@ Run

.PHONY: run
run: build ## Install what is missing, build, and start everything in one process (ARGS="--http :8080" passes flags on)
	exec bin/inkstream serve $(ARGS)

.PHONY: build
build: deps ## Build bin/inkstream
	go build -o bin/inkstream ./services/cli/cmd/inkstream

.PHONY: deps
deps: ## Install the system packages that a build needs, and make the library that PDFium is linked from, if any is missing
	@pkg/tools/deps.sh build

.PHONY: nats
nats: .bin/nats ## Build .bin/nats, the NATS command line client, to look into the queues

##@ Check

# Codecs, drawing and SQLite work on memory that is theirs alone: the race detector finds nothing there, and cost two
# fifths of the processor time of tests that use them. No package belongs here that has sync.Map or another generic type
# synchronise for it: the linker may take its copy for everybody's, and then the detector sees races where there are none.
NOT_RACED := compress/... hash/... image/... golang.org/x/image/... github.com/klauspost/compress/... modernc.org/libc \
	modernc.org/sqlite/lib

.PHONY: test
# Many tests of the whole pipeline wait for something most of the time, so more of them run at once than there are cores.
test: test-deps .bin/versitygw .bin/nats .bin/kustomize .bin/kubeconform ## Test every module with the race detector
	# Not raced is what most tests run beside themselves: the NATS server of others, and the engines' children, which have
	# tests of their own. What vet finds, make lint finds too. The tests of the whole server take longest, so they begin first.
	go build -o .bin/ ./services/ocr/enginetest/children ./pkg/bus/bustest/natsserver
	INKSTREAM_PLAIN_PROGRAMS=$(CURDIR)/.bin \
	go test -race $(foreach p,$(NOT_RACED),-gcflags=$(p)=-race=false) -vet=off -shuffle=on -parallel $$(($$(nproc) * 3 / 2)) -timeout 40m \
	inkstream.dev/services/standalone work
	GOWORK=off go -C pkg/tools test ./...

.PHONY: test-deps
test-deps: ## Install the system packages that the tests need, if any is missing
	@pkg/tools/deps.sh test

.PHONY: vision
vision: test-deps ## Hold the engine of vision models to its contract over a server that really reads pixels, where npm is
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory vision-test; else echo 'npm is not here: the server that reads pixels cannot be installed'; fi

.PHONY: vision-test
vision-test: .bin/visionserver/node_modules
	INKSTREAM_VISION_SERVER=$(CURDIR)/.bin/visionserver go test -count=1 -v -run '^TestPixelReader' ./services/ocr/internal/vision

# Without scripts: they would fetch programs for graphics cards from elsewhere.
.bin/visionserver/node_modules: pkg/tools/visionserver/package.json pkg/tools/visionserver/server.mjs
	mkdir -p .bin/visionserver && cp pkg/tools/visionserver/* .bin/visionserver/
	npm install --prefix .bin/visionserver --no-audit --no-fund --no-package-lock --ignore-scripts
	touch .bin/visionserver/node_modules

.PHONY: lint
# Code compiled without paths (-trimpath) is shared by all checkouts on a machine, and what cgo has made of a file names the
# file in the checkout that came first, which may be gone by now. The include path makes it this checkout's own.
lint: deps .bin/golangci-lint ## Vet and lint every module
	CGO_CFLAGS='-O2 -g -I$(CURDIR)' go vet work
	CGO_CFLAGS='-O2 -g -I$(CURDIR)' .bin/golangci-lint run $(addsuffix /...,$(MODULES))
	$(MAKE) --no-print-directory words ARGS=-check

.PHONY: words
words: ## Measure how the code reads: length of names and lines, banned words in comments (ARGS="-check", ARGS="-list short")
	@GOWORK=off go -C pkg/tools run ./words -root $(CURDIR) $(ARGS)

.PHONY: alone
alone: deps ## Prove that each module is tidy and builds without the workspace
	@for m in $(MODULES); do echo "$$m"; (cd "$$m"; GOWORK=off go mod tidy -diff; GOWORK=off go build ./...); done

.PHONY: generate-check
generate-check: $(BUF) $(PLUGINS) ## Prove that the generated code is current and the API compatible
	pkg/tools/generate-check.sh $(BUF)

.PHONY: ui-check
ui-check: .bin/ui ## Prove that the bundled web pages are current and small, and, where npm is, that their types are right
	.bin/ui -check
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory ui-types; else echo 'npm is not here: types were not checked'; fi

.PHONY: ui-types
ui-types: $(TSC) ## Check the types of the web pages, and that their libraries are those of npm
	pkg/tools/ui-types.sh $(TSC)

##@ Deploy

.PHONY: images
images: ## Build the images of the services and of inkstream (VERSION=0.1.0 TAG=dev LANGUAGES="eng deu" or all)
	deploy/images.sh

.PHONY: compose-test
compose-test: ## Send a scan through both Compose files, with the images that are there (ARGS="SCAN.pdf WORD")
	deploy/compose-test.sh $(ARGS)

.PHONY: k8s-test
k8s-test: ## Test images, Compose, Kubernetes with KEDA, and Tilt on a one-node cluster; root (ARGS="images cluster" for some steps)
	k8s/testcluster/run.sh $(ARGS)

##@ Measure

.PHONY: bench
bench: build ## Measure speed and memory against the targets and print a table (ARGS="-only ocr" for one)
	pkg/tools/deps.sh bench
	go run ./services/cli/cmd/bench $(ARGS)

.PHONY: quality
quality: build test-deps peers ## Measure what comes out against the truths and the peers, into services/cli/cmd/quality/RESULTS.md (ARGS="-only tables" for one)
	pkg/tools/deps.sh quality
	go run ./services/cli/cmd/quality $(ARGS)

.PHONY: compare
compare: build ## Prove that bin/inkstream makes the same of the corpus, byte for byte, as another build does (OLD=binary)
	go run ./services/cli/cmd/compare -old $(OLD) -new bin/inkstream $(ARGS)

.PHONY: peers
peers: ## Install the peers that npm carries; quality goes without them, and says so, where npm is not
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory .bin/peers/node_modules; else echo 'npm is not here: its peers are left out'; fi

.bin/peers/node_modules: pkg/tools/peers/package.json
	mkdir -p .bin/peers && cp pkg/tools/peers/package.json .bin/peers/
	npm install --prefix .bin/peers --no-audit --no-fund --no-package-lock
	touch .bin/peers/node_modules

.PHONY: pages
pages: test-deps ## Generate documents with known contents (ARGS="-n 3 -seed 7 -families newspaper,ledger -o FOLDER")
	pkg/tools/deps.sh quality
	go run ./services/cli/cmd/pagegen $(ARGS)

.PHONY: train-layout
train-layout: test-deps ## Learn columns from tables on generated documents, measure on families left out, compare with the weights in use (ARGS="-n 14 -corpus FOLDER -o FOLDER")
	pkg/tools/deps.sh quality
	go run ./pkg/layout/train $(ARGS)

.PHONY: chaos
chaos: test-deps ## Kill anything at random under load for three minutes, and check that nothing is lost (ARGS="-seed 7")
	go run ./services/cli/cmd/chaos $(ARGS)

.PHONY: attack
attack: build test-deps ## Attack servers of two tenants on this machine, and print what was tried, expected and seen (ARGS="-only watch")
	go run ./services/cli/cmd/attack $(ARGS)

.PHONY: alerts
alerts: deps .bin/otelcol ## Make each alert fire for its real cause, under a real Prometheus, and follow a job's trace (ARGS="-keep" keeps the logs)
	pkg/tools/deps.sh alerts
	go run ./services/cli/cmd/alerts $(ARGS)

.PHONY: scale
scale: test-deps .bin/versitygw ## Measure with 100,000 queued jobs and a document of 10,000 pages (ARGS="-jobs 3000 -pages 300")
	go run ./services/cli/cmd/scale $(ARGS)

.PHONY: ui-scale
ui-scale: test-deps ## Hold the web pages to their budgets with 100,000 documents and a document of 3,000 pages
	INKSTREAM_UI_JOBS=100000 INKSTREAM_UI_PAGES=3000 go test -count=1 -v -run StayWithin ./services/gateway/ui/e2e

##@ Change

.PHONY: generate
generate: $(BUF) $(PLUGINS) ## Generate proto/gen from the .proto files
	$(BUF) generate --path proto/inkstream

.PHONY: ui
ui: .bin/ui ## Bundle the web pages into services/gateway/ui/dist; needs Go alone
	.bin/ui

.PHONY: schemas
schemas: ## Write the schemas that the Kubernetes manifests are checked against, into k8s/testdata
	pkg/tools/schemas.sh

.PHONY: clean
clean: ## Remove everything that was built here, the tools too
	rm -rf bin .bin

.PHONY: help
help:
	@awk -f pkg/tools/help.awk $(firstword $(MAKEFILE_LIST))

# The tools, built again when their versions change.

.bin/golangci-lint: pkg/tools/go.mod
	$(TOOL) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.bin/versitygw: pkg/tools/go.mod
	$(TOOL) github.com/versity/versitygw/cmd/versitygw

.bin/kustomize: pkg/tools/go.mod
	$(TOOL) sigs.k8s.io/kustomize/kustomize/v5

.bin/kubeconform: pkg/tools/go.mod
	$(TOOL) github.com/yannh/kubeconform/cmd/kubeconform

.bin/nats: pkg/tools/go.mod
	$(TOOL) github.com/nats-io/natscli/nats

.bin/ui: pkg/tools/go.mod pkg/tools/ui/main.go
	$(TOOL) ./ui

# The collector is a module of its own, as old as the image that deploy/compose.yaml names.
.bin/otelcol: pkg/tools/otelcol/go.mod pkg/tools/otelcol/main.go
	GOWORK=off go -C pkg/tools/otelcol build -ldflags '-s -w' -o $(CURDIR)/.bin/otelcol .

.bin/protoc-gen-go: pkg/tools/go.mod
	$(TOOL) google.golang.org/protobuf/cmd/protoc-gen-go

.bin/protoc-gen-go-grpc: pkg/tools/go.mod
	$(TOOL) google.golang.org/grpc/cmd/protoc-gen-go-grpc

.bin/protoc-gen-grpc-gateway: pkg/tools/go.mod
	$(TOOL) github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway

.bin/protoc-gen-openapiv2: pkg/tools/go.mod
	$(TOOL) github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2

$(BUF) $(TSC) &: pkg/tools/package.json
	@command -v npm >/dev/null || { echo 'npm is needed to install buf and tsc' >&2; exit 1; }
	mkdir -p .bin/npm && cp pkg/tools/package.json .bin/npm/
	npm install --prefix .bin/npm --no-audit --no-fund --no-package-lock
	@touch $(BUF) $(TSC)
