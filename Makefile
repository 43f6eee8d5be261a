# make lists what there is to make.
.DEFAULT_GOAL := help
.PHONY: help build test race lint fuzz e2e interop conformance bench

GO ?= go
FUZZTIME ?= 10s
PACKAGES ?= ./...

help: ## this list
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

build: ## bin/goddard
	$(GO) build -o bin/goddard ./cmd/goddard

test: ## unit tests, and the servers as processes
	$(GO) test $(PACKAGES)

race: ## the same under the race detector
	$(GO) test -race $(PACKAGES)

lint: ## gofmt, go vet, and the linters of tools/ (its README says why these)
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(GO) vet $(PACKAGES)
	$(GO) tool -modfile=tools/go.mod staticcheck -checks inherit,-SA5008,-ST1005 $(PACKAGES)
	$(GO) tool -modfile=tools/go.mod errcheck -ignoretests -exclude tools/errcheck.txt $(PACKAGES)

fuzz: ## each fuzz target for FUZZTIME
	@$(GO) list -f '{{range .TestGoFiles}}{{$$.Dir}}/{{.}} {{$$.ImportPath}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$$.Dir}}/{{.}} {{$$.ImportPath}}{{"\n"}}{{end}}' $(PACKAGES) | \
	while read -r file package; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file" </dev/null); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || exit 1; \
		done; \
	done

e2e: build ## the end-to-end tests against bin/goddard
	E2E_BINARY=$(CURDIR)/bin/goddard $(GO) test -count=1 ./test/e2e/...

interop: build ## the official Java and Go clients and mqadmin against bin/goddard; needs a JDK and Maven
	cd test/interop && E2E_BINARY=$(CURDIR)/bin/goddard $(GO) test -count=1 -timeout 25m .

conformance: build ## what the Java server answered; needs Python 3, and SHARED=folder of the shared material
	cd test/interop && E2E_BINARY=$(CURDIR)/bin/goddard $(GO) test -tags shared -count=1 -timeout 15m -v ./conformance

bench: ## benchmarks, with allocations
	$(GO) test -run '^$$' -bench . -benchmem $(PACKAGES)
