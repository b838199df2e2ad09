package client

import (
	"net/url"
	"strings"

	"redline/internal/llm"
)

// serves is what a header says of who served a request.
type serves uint8

const (
	asReplica serves = iota
	asPrefiller
	asRank
	servesCount
)

// replicaHeaders are those in which gateways and routers name the engine that
// served a request. Of several that say the same the first one here counts.
var replicaHeaders = []struct {
	name string // in lower case
	as   serves
}{
	{"x-gateway-destination-endpoint-served", asReplica}, // Gateway API inference extension, llm-d
	{"target-pod", asReplica},                            // AIBrix
	{"x-sgl-decode-url", asReplica},                      // SGLang's router
	{"x-dynamo-worker-instance-id", asReplica},
	{"x-smg-target-worker", asReplica}, // SGLang's model gateway
	{"x-litellm-model-api-base", asReplica},
	{"x-litellm-model-id", asReplica},
	{"x-served-by", asReplica}, // nginx, HAProxy and others where they are told to
	{"x-upstream-addr", asReplica},
	{"x-backend-server", asReplica},
	{"x-prefiller-host-port", asPrefiller}, // llm-d
	{"x-sgl-prefill-url", asPrefiller},
	{"x-dynamo-prefill-instance-id", asPrefiller},
	{"x-data-parallel-rank", asRank},
	{"x-dynamo-dp-rank", asRank},
}

// maxReplicaName bounds the name of an engine.
const maxReplicaName = 128

// placing is what the headers of a reply say so far.
type placing [servesCount]struct {
	name string
	rank int // of the header that says it, from 1; 0 for none
}

// note takes a header in. own is the one that the user names, which takes the place of
// those that are known to name a replica.
func (p *placing) note(name []byte, value, own string) {
	if value == "" {
		return
	}
	if own != "" && strings.EqualFold(string(name), own) {
		p[asReplica].name, p[asReplica].rank = replicaName(value), 1
		return
	}
	for i, h := range replicaHeaders {
		if len(name) != len(h.name) || own != "" && h.as == asReplica || !strings.EqualFold(string(name), h.name) {
			continue
		}
		if said := &p[h.as]; said.rank == 0 || said.rank > i+2 {
			said.name, said.rank = replicaName(value), i+2
		}
		return
	}
}

// servedBy is who served the request, the zero value where no header says so.
func (p *placing) servedBy() llm.ServedBy {
	return llm.ServedBy{Replica: llm.RankOf(p[asReplica].name, p[asRank].name), Prefiller: p[asPrefiller].name}
}

// replicaName is the name of an engine; of a URL, which may hold keys, its host.
func replicaName(value string) string {
	if strings.Contains(value, "://") {
		if u, err := url.Parse(value); err == nil && u.Host != "" {
			value = u.Host
		}
	}
	return strings.ToValidUTF8(value[:min(len(value), maxReplicaName)], "?")
}
