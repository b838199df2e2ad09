# Everything here is also a plain go command; make only saves typing.
SHELL   := /bin/bash
# The version is that of the newest section of the changelog; what is built between releases has its commit behind it.
VERSION := $(shell awk '/^\#\# / {print $$2; exit}' CHANGELOG.md)
COMMIT  := $(shell git describe --always --dirty 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION)$(if $(COMMIT),+$(COMMIT))
MEASURE := go run ./scripts/measure
BUILD   := CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)"
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
TARGETS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

FUZZTIME ?= 10m
PAIRS ?= runs/pairs.jsonl
.PHONY: help build run test long check cross fuzz hostile bench floor scale workers busy accuracy sockets peers real realfire vllm predict tune twin offered pace agents images cliff parts day soak reliability fire fleet gateways ledger limit verdicts pairs drift diagnosis trials collector golden docs-as-printed readme pictures examples release vuln dist clean scrape screen

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/redline: one static, stripped binary
	$(BUILD) -o bin/redline ./cmd/redline

run: build ## run a load against the embedded engine
	./bin/redline run

test: ## run all tests, with a browser for the HTML report where one can be had
	scripts/test/run.sh

long: ## run all tests at full length: more seeds, hours in place of minutes, programs of others (twenty minutes)
	REDLINE_LONG=1 go test -count=1 -timeout 1h ./...

check: cross ## vet, staticcheck, gofmt, imports, race, cross-compilation
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt: $$unformatted"; exit 1; fi
	go vet ./...
	$(STATICCHECK) ./...
	go test ./docs/
	go test -race ./...

cross: ## compile for every system that is released
	@for t in $(TARGETS); do echo "GOOS=$${t%/*} GOARCH=$${t#*/}"; \
	  CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} go build -o /dev/null ./cmd/redline || exit 1; done

# What is read from outside: a package and its target each, one after another.
FUZZED := drive/frame:FuzzSSE drive/wire:FuzzDialects drive/client:FuzzResponse plan/config:FuzzPlan drive/record:FuzzReader text:FuzzMask traffic/corpus:FuzzOpen traffic/trace:FuzzOpen

fuzz: ## fuzz every reader of foreign bytes, FUZZTIME (10m) each; findings go to testdata/fuzz
	@for f in $(FUZZED); do echo "$$f for $(FUZZTIME)"; \
	  nice -n 19 go test -run '^$$' -fuzz "^$${f#*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x -parallel 1 \
	    ./internal/$${f%:*} || exit 1; done

hostile: ## compare every figure with the logs of 10,000 random servers, honest and lying (three minutes); writes docs/measured/RELIABILITY.md
	REDLINE_HOSTILE=10000 go test -run TestRandomServers -timeout 1h ./internal/judge/validity/

bench: ## run the benchmarks (minutes)
	go test -run '^$$' -bench . -benchmem ./...

floor: build ## what a streamed token costs against a bare epoll loop and a bare writer (eight minutes, Linux); writes docs/measured/COST.md
	$(MEASURE) floor

workers: build ## what more workers bring and cost, on a machine with many cores (two minutes); writes docs/measured/SCALE.md
	$(MEASURE) workers

scale: build ## the load that this machine holds, what it costs and how true it is (two minutes); writes docs/measured/SCALE.md
	$(MEASURE) scale

busy: build ## compare with the truth on disturbed cores: busy loops, a CPU quota, a process that is stopped (an hour on 16 cores, as root; resumes; BUSY='-budget 20m'); writes docs/measured/BUSY.md
	$(MEASURE) busy $(BUSY)
	$(MEASURE) busy -first $(BUSY)

accuracy: build ## compare with servers that know the truth (half an hour); writes docs/measured/ACCURACY.md, docs/measured/LIMIT.md
	$(MEASURE) accuracy
	$(MEASURE) sockets

sockets: build ## search for the limit of the embedded engine over sockets, in requests/s and in agents (fifty minutes); writes its tables in docs/measured/LIMIT.md
	$(MEASURE) sockets
	$(MEASURE) sockets -agents -searches runs/socketagents

peers: build ## drive one server with redline and with other load testers (as root; minutes); writes docs/measured/PEERS.md
	$(MEASURE) peers

real: realfire ## drive real engines with a small model, close requests of one and restart it; writes its part of docs/measured/REAL-ENGINES.md
	$(MEASURE) real

realfire: build ## close requests of a real llama.cpp and restart it (ten minutes); writes its part of docs/measured/REAL-ENGINES.md
	$(MEASURE) realfire

vllm: build ## measure the running server at URL through saturation (HARDWARE='1 x H200'; scripts/vllm/run.sh names the rest)
	OUT=$${OUT:-runs/vllm} scripts/vllm/run.sh
	$(MEASURE) pack $${OUT:-runs/vllm}/recorded.tar.gz $${OUT:-runs/vllm}

predict: ## measured / predicted of every recorded server, by the catalog and by a twin; writes docs/measured/REAL-ENGINES.md (three minutes)
	REDLINE_PREDICT=1 go test -count=1 -run TestPredictRecordedServers ./internal/run/assemble/
	REDLINE_PREDICT=1 go test -count=1 -run TestCalibrateRecordedServers ./internal/twin/

tune: build ## tune the engine of make real (eight minutes); writes docs/measured/REAL-TUNE.md
	$(MEASURE) tune

twin: build ## fit a twin to the engine of make real (five minutes); writes its part of docs/measured/REAL-ENGINES.md
	$(MEASURE) twin

scrape: build ## what reading the server's metrics costs (three minutes); writes its table in docs/measured/SCALE.md
	$(MEASURE) scrape

screen: build ## what the full screen costs against the line (seven minutes); writes its table in docs/measured/SCALE.md
	$(MEASURE) screen

pace: build ## tokens per second that one redline sim --pace writes, and how late it is (two minutes on 16 cores); writes its table in docs/measured/SCALE.md
	$(MEASURE) pace

agents: build ## memory, CPU and lag of the client with 500 live agents and prompts of 100,000 tokens (three minutes); writes its table in docs/measured/SCALE.md
	$(MEASURE) agents

images: build ## memory, CPU and lag of the client with 200 images of 500 kB per second (two minutes); writes its table in docs/measured/SCALE.md
	$(MEASURE) images

cliff: ## the share of prompts in a simulated cache by the number of agents, and how often sweep --working-set finds its size (five minutes); writes their tables in docs/measured/SCALE.md and RATES.md
	REDLINE_CLIFF=1 go test -count=1 -run TestCacheOfLiveJobsHasACliff ./internal/twin/replay
	REDLINE_CLIFF=1 go test -count=1 -timeout 1h -run TestCliffHoldsTheTruth ./internal/answer/workingset

parts: ## twins fitted to two loads on simulated engines with adapters, grammars, priorities, caches and speculation, judged at a third (20 minutes of CPU); writes its table in docs/measured/RATES.md
	REDLINE_PARTS=5 go test -count=1 -timeout 1h -run TestPartsOfATwin ./internal/twin

day: ## how long capacity --simulate takes for a day of 100 replicas (two minutes); writes its table in docs/measured/SCALE.md
	REDLINE_DAY=1 go test -count=1 -v -timeout 30m -run TestDayOfAHundredReplicas ./internal/twin

offered: build ## how many requests and streams it can offer (a minute); writes its table in docs/measured/SCALE.md
	$(MEASURE) offered

soak: build ## half an hour at 20,000 tokens/s, refused where the run is invalid; writes its table in docs/measured/RELIABILITY.md
	$(MEASURE) soak

reliability: build ## mends taken out, kills, full disks, fuzzing, races (an hour; as root; PARTS=race runs one); writes docs/measured/RELIABILITY.md
	$(MEASURE) reliability $(PARTS)

FIRE ?= 100
fire: ## how often leaks, outages and changed replies of the simulated engine are found, and healthy ones accused, over 100 runs of each row in virtual time (minutes); writes docs/measured/FIRE.md
	REDLINE_FIRE=$(FIRE) go test -count=1 -run TestFire -timeout 2h ./internal/run/measure

ISOLATION ?= 100
gateways: ## how near the ledger of the first token is to the truth, how often a gateway's overhead is in its interval and verdicts on isolation are right, in virtual time (half an hour of CPU); writes docs/measured/GATEWAYS.md
	REDLINE_LEDGER=1 go test -count=1 -run TestLedgerHoldsTheTruth ./internal/run/measure
	REDLINE_OVERHEAD=$(ISOLATION) go test -count=1 -run TestGatewayOverheadIsFound -timeout 2h ./internal/run/experiment
	REDLINE_ISOLATION=$(ISOLATION) go test -count=1 -run TestIsolation -timeout 1h ./internal/run/experiment

ledger: build ## how near the ledger of the first token is to the truth over sockets, and how often compare finds what a gateway takes (12 minutes, little CPU); writes its tables in docs/measured/GATEWAYS.md
	$(MEASURE) ledger

limit: ## how often the reported limit covers the true one, over 100 searches of each row and budget (minutes); writes docs/measured/LIMIT.md
	REDLINE_LIMIT=100 go test -run TestSearchesFindThe -timeout 1h ./internal/answer/search/

VERDICTS ?= internal/judge/account/testdata/verdicts.jsonl
verdicts: ## how often objectives are judged wrongly, and decided (an hour of CPU; goes on where it ended, VERDICTS=file); writes its tables in docs/measured/RATES.md
	CGO_ENABLED=0 go test -c -trimpath -o bin/verdicts ./internal/judge/account
	bin/verdicts -test.run 'TestVerdictRates$$' -test.v -test.timeout 6h -rates $(VERDICTS)
	bin/verdicts -test.run 'TestVerdictRates$$' -rates $(VERDICTS) -rates.page
	go test -run TestPictureOfAFalseVerdict ./internal/judge/account -rates.picture

diagnosis: ## how often Why: names the regime that the simulated engine was put into, and says nothing of a healthy one, 100 draws of each (minutes); writes its table in docs/measured/RATES.md
	REDLINE_DIAGNOSIS=100 go test -count=1 -run TestDiagnosisRates -timeout 1h ./internal/answer/diagnose/

trials: ## how often comparisons, drift and toggles call a difference that is none, and find one (half an hour); writes its tables in docs/measured/RATES.md
	go test -run 'TestDriftOverTwoYears|TestManualSaysHowOftenItIsRight|TestStudyRates|TestLoadThresholdsHoldTheTruth' ./internal/answer/compare ./internal/answer/toggle -update
	REDLINE_TRIALS=400 go test -run 'TestSame|TestFive|TestLimit|TestSingleRunsOfOne' -v -timeout 1h ./internal/answer/compare/

pairs: ## how often one run of each side, and two servers live, are called different or equal, and how often rightly (three hours on two cores; resumes from PAIRS; REDLINE_SHARD=0/2 does half); writes its table in docs/measured/RATES.md
	REDLINE_PAIRS=400 REDLINE_PAIRS_STATE=$(abspath $(PAIRS)) go test -count=1 -run '(Pair|Live)Rates$$' -timeout 6h ./internal/answer/compare/

fleet: build ## how often a slow or failing replica behind a gateway is named and a healthy one accused, 100 seeds of each row in virtual time (half an hour of CPU); writes its table in docs/measured/RATES.md
	$(MEASURE) fleet

drift: ## how often drift raises false alarms and finds changes, in 1,000 series of each kind (five minutes); writes its table in docs/measured/RATES.md
	REDLINE_DRIFT=1000 go test -count=1 -run 'TestDriftRates$$' -timeout 1h ./internal/answer/compare/

collector: ## push figures to the OpenTelemetry collector's own receiver, built from a module of its own (minutes)
	REDLINE_COLLECTOR=1 go test -count=1 -run TestOpenTelemetryCollectorReceives -v ./internal/show/gauge/

golden: ## rewrite golden files, schemas and generated docs
	go generate ./internal/plan/schema
	go test ./internal/show/report -update
	go test ./internal/show/export ./internal/show/live ./internal/show/listing ./internal/plan/config ./internal/judge/figure ./internal/answer/diagnose ./internal/peer -update

docs-as-printed: ## run every command of README, docs/ and --help at its full length, in virtual time where it starts no process (half an hour)
	go test -count=1 -run TestShownCommandsRun -timeout 6h ./cmd/redline -v -as-printed

readme: build ## run the examples of README and docs/guide/START.md against a simulated server and write their output into them (minutes)
	$(MEASURE) readme

pictures: ## write the pictures of the documentation: a report and the pages of redline ui, of recorded runs, in Chromium; writes docs/pictures
	go run ./scripts/pictures

examples: ## write recorded runs of vLLM on an H200 into examples/runs, for redline ui to show
	go run ./scripts/pictures -runs examples/runs

release: check long docs-as-printed vuln dist ## what a release must pass, and its binaries

vuln: ## known vulnerabilities of what the binary calls (asks the Go vulnerability database, which not every network reaches)
	$(GOVULNCHECK) ./...

dist: ## make a release folder, dist/: binaries, packages, image, formula, bills of materials, checksums (RELEASE_URL is where it will be)
	go run ./scripts/dist $(if $(RELEASE_URL),-url $(RELEASE_URL))

clean: ## remove what was built
	rm -rf bin dist
