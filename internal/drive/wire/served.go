package wire

import (
	"encoding/json"
	"strconv"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// servedBy reads which worker a reply names: Dynamo's "nvext" has its "worker_id" where
// extra_fields asks for it, and SGLang's "meta_info" the rank of its engine.
func servedBy(t jsonio.Tree) (by llm.ServedBy) {
	if w := t.Object("nvext").Object("worker_id"); w != nil {
		by.Replica = llm.RankOf(idOf(w, "decode_worker_id"), idOf(w, "decode_dp_rank"))
		by.Prefiller = llm.RankOf(idOf(w, "prefill_worker_id"), idOf(w, "prefill_dp_rank"))
		if by.Prefiller == by.Replica { // one that does both
			by.Prefiller = ""
		}
	}
	if _, known := t.Object("meta_info").Number("dp_rank"); known {
		by.Replica = rankName(t.Object("meta_info").Count("dp_rank"))
	}
	return by
}

// rankNames are those that there are.
var rankNames = func() (names [64]string) {
	for i := range names {
		names[i] = llm.RankOf("", strconv.Itoa(i))
	}
	return names
}()

// rankName allocates nothing, as it is asked for with every event.
func rankName(rank int) string { return rankNames[min(rank, len(rankNames)-1)] }

// maxID bounds what names a worker.
const maxID = 64

// idOf is a number or a word that names something, "" for none.
func idOf(t jsonio.Tree, key string) string {
	switch v := t[key].(type) {
	case json.Number:
		return v.String()[:min(len(v), maxID)]
	case string:
		return v[:min(len(v), maxID)]
	}
	return ""
}
