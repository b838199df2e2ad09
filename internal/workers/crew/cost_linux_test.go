package crew

import (
	"bytes"
	"fmt"
	"iter"
	"syscall"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
)

// reply is a request of a load of 1,000 a second, with as many output events as
// tokens, about 20 ms apart.
func reply(id, tokens int) *record.Record {
	at := 1e9 + int64(id)*1e6
	r := &record.Record{ID: id, Session: id, Class: "chat", Phase: record.Measure, Try: 1, Due: at, Begin: at + 20_000, Slot: at + 20_000,
		AskedPrompt: 500, AskedOutput: tokens, Streamed: true}
	see := func(kind llm.EventKind, after int64) {
		r.Observe(llm.Event{Kind: kind, At: at + after, Status: 200, Addr: "10.0.0.7:8000", Text: []byte(" word")})
	}
	see(llm.Ready, 30_000)
	see(llm.Sent, 40_000)
	see(llm.Written, 50_000)
	see(llm.Head, 40_000_000)
	after := int64(45_000_000)
	for i := range tokens {
		see(llm.Output, after)
		after += 20_000_000 + int64((id*31+i*17)%997)*1000
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{PromptTokens: 500, OutputTokens: tokens}})
	see(llm.End, after)
	r.Settle()
	return r
}

// BenchmarkConductor is what a request costs the conductor: to hear from one of
// eight workers that it answers and has ended, to write it down, and for the summary to read it from the
// log, twice; in processor time, garbage collection included. Thinning is the
// worker's part.
func BenchmarkConductor(b *testing.B) {
	const workers, requests = 8, 4096
	for _, tokens := range []int{100, 1000} {
		for _, share := range []float64{1, 0.05, 0.01} {
			b.Run(fmt.Sprintf("%d tokens, times of %g%%", tokens, 100*share), func(b *testing.B) {
				var thinned, parsed, merged, summed time.Duration
				var size int
				records := make([]*record.Record, requests)
				for i := range records {
					records[i] = reply(i, tokens)
				}
				for b.Loop() {
					begun := cpu(b)
					sent := batchesOf(records, workers, share)
					told := cpu(b)
					for _, one := range sent {
						one.parse()
					}
					read := cpu(b)
					log := hear(b, sent, workers)
					written := cpu(b)
					sumUp(b, log.Bytes(), records)
					thinned, parsed, merged, summed = thinned+told-begun, parsed+read-told, merged+written-read, summed+cpu(b)-written
					size = log.Len()
				}
				for what, took := range map[string]time.Duration{"worker": thinned, "parse": parsed, "merge": merged, "summary": summed} {
					b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/requests, what+"-ns/request")
				}
				b.ReportMetric(float64(size)/requests, "B/request")
			})
		}
	}
}

// batchesOf is what workers publish: at every beat which requests have begun to
// answer, and which have ended.
func batchesOf(records []*record.Record, workers int, share float64) (list []*Batch) {
	thin := &account.Thinner{Share: share}
	beats := map[[2]int64]*Batch{}
	last := int64(0)
	in := func(r *record.Record, at int64) *Batch {
		key := [2]int64{at / int64(beat), int64(r.ID % workers)}
		if beats[key] == nil {
			beats[key] = &Batch{Worker: int(key[1])}
			last = max(last, key[0])
		}
		return beats[key]
	}
	for _, r := range records {
		begun, ended := in(r, r.First), in(r, r.End)
		begun.Lines = r.Opening().AppendLine(begun.Lines)
		ended.Lines = thin.Of(r).AppendLine(ended.Lines)
	}
	for at := range last + 1 {
		for w := range workers {
			if b := beats[[2]int64{at, int64(w)}]; b != nil {
				b.Seq, b.Known = uint64(at+1), (at+1)*int64(beat)
				list = append(list, b)
			}
		}
	}
	return list
}

func hear(b *testing.B, list []*Batch, workers int) *bytes.Buffer {
	b.Helper()
	log := &bytes.Buffer{}
	w := must.Get(record.NewWriter(log, record.Header{Run: "r"}))(b)
	write := func(r *record.Record) {
		if r.Outcome != "" {
			_ = w.Write(r)
		}
	}
	m := newMerge(workers)
	for _, one := range list {
		if err := m.add(one); err != nil {
			b.Fatal(err)
		}
		m.release(write)
	}
	m.rest(write)
	must.Do(b, w.Flush())
	return log
}

func sumUp(b *testing.B, log []byte, records []*record.Record) {
	b.Helper()
	objectives := must.Get(slo.ParseAll([]string{"ttft:p99<500ms", "tpot:p99<50ms"}))(b)
	s, err := account.Summarize(func() iter.Seq2[*record.Record, error] {
		r := must.Get(record.NewReader(bytes.NewReader(log)))(b)
		return r.All()
	}, account.Options{Start: 1e9, End: records[len(records)-1].End, AskedRate: 1000, Objectives: objectives})
	if err != nil || s.Requests.OK != len(records) {
		b.Fatalf("%d ok, %v", s.Requests.OK, err)
	}
}

// cpu is the processor time of this process, which others on the machine do not
// lengthen much.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
