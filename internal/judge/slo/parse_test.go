package slo

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

const (
	ms = 1e6
	s  = 1e9
)

func TestParse(t *testing.T) {
	t.Parallel()
	ttft := Objective{Metric: "ttft", Stat: "p99", P: 0.99, Limit: 500 * ms, Text: "ttft:p99<500ms"}
	tail := Objective{Metric: "ttft", Stat: "p999", P: 0.999, Limit: 1.2 * s, Text: "ttft:p999<1.2s"}
	e2e := Objective{Metric: "e2e", Stat: "p95", P: 0.95, Limit: 1.2 * s, Text: "e2e:p95<1.2s"}
	errors := Objective{Metric: "error", Stat: "rate", Limit: 0.01, Text: "error:rate<1%"}
	throughput := Objective{Metric: "throughput", Stat: "min", Above: true, Limit: 45, Text: "throughput:min>45"}
	kv := Objective{Metric: "kv", Stat: "max", Limit: 1024, Text: "kv:max<1024MB"}
	scoped := func(scope Scope, text string) Objective {
		return Objective{Metric: "ttft", Stat: "p99", P: 0.99, Limit: 2 * s, Scope: scope, Text: text}
	}
	for text, want := range map[string]Objective{
		"class=rag ttft:p99<2s":                  scoped(Scope{Class: "rag"}, "class=rag ttft:p99<2s"),
		" Class = rag  TTFT : p99 < 2s ":         scoped(Scope{Class: "rag"}, "class=rag ttft:p99<2s"),
		"class=RAG ttft:p99<2s":                  scoped(Scope{Class: "RAG"}, "class=RAG ttft:p99<2s"),
		"tenant=acme:eu ttft:p99<2s":             scoped(Scope{Tenant: "acme:eu"}, "tenant=acme:eu ttft:p99<2s"),
		"tenant=acme class=rag ttft:p99<2s":      scoped(Scope{Class: "rag", Tenant: "acme"}, "class=rag tenant=acme ttft:p99<2s"),
		`class="short chat" ttft:p99<2s`:         scoped(Scope{Class: "short chat"}, `class="short chat" ttft:p99<2s`),
		`class="rag"ttft:p99<2s`:                 scoped(Scope{Class: "rag"}, "class=rag ttft:p99<2s"),
		`class="say \"a\"" ttft:p99<2s`:          scoped(Scope{Class: `say "a"`}, `class="say \"a\"" ttft:p99<2s`),
		"class=ttft:p99<1s tenant=x ttft:p99<2s": scoped(Scope{Class: "ttft:p99<1s", Tenant: "x"}, "class=ttft:p99<1s tenant=x ttft:p99<2s"),
		"ttft:p99<500ms":                         ttft,
		" TTFT : P99 <= 0.5 s ":                  ttft,
		"ttft:p99.0<500000us":                    ttft,
		"ttft:p999<1.2s":                         tail,
		"ttft:p99.9<1200ms":                      tail,
		"e2e:p95<1.2s":                           e2e,
		"latency:p95<1s200ms":                    e2e,
		"error:rate<1%":                          errors,
		"error:rate<0.01":                        errors,
		"throughput:min>45":                      throughput,
		"throughput:min>=45 tok/s":               throughput,
		"throughput:min>45tps":                   throughput,
		"kv:max<1024MB":                          kv,
		"kv:max<1GiB":                            kv,
		"kv:max<1024":                            kv,
		"tpot:mean<40ms":                         {Metric: "tpot", Stat: "mean", Limit: 40 * ms, Text: "tpot:mean<40ms"},
		"stall:max<2m":                           {Metric: "stall", Stat: "max", Limit: 120 * s, Text: "stall:max<120s"},
		"itl:p5<900us":                           {Metric: "itl", Stat: "p5", P: 0.05, Limit: 900e3, Text: "itl:p5<900us"},
		"icl:p99.999<15ns":                       {Metric: "icl", Stat: "p99999", P: 0.99999, Limit: 15, Text: "icl:p99999<15ns"},
		"good:fraction>99%":                      {Metric: "good", Stat: "fraction", Above: true, Limit: 0.99, Text: "good:fraction>0.99"},
		"reject:rate<7%":                         {Metric: "reject", Stat: "rate", Limit: 0.07, Text: "reject:rate<7%"},
		"retry:rate<0.1%":                        {Metric: "retry", Stat: "rate", Limit: 0.001, Text: "retry:rate<0.1%"},
		"cost:max<$2.50":                         {Metric: "cost", Stat: "max", Limit: 2.5, Text: "cost:max<$2.5"},
		"ttfa:p50<1h":                            {Metric: "ttfa", Stat: "p50", P: 0.5, Limit: 3600 * s, Text: "ttfa:p50<3600s"},
		"decode:p90<9s":                          {Metric: "decode", Stat: "p90", P: 0.9, Limit: 9 * s, Text: "decode:p90<9s"},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(want, got), "Parse(%q) (-want +got)", text)
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"class= ":                     "class: the name is missing; write it as in class=rag ttft:p99<2s",
		`class="" ttft:p99<2s`:        "class: the name is missing",
		`tenant="acme ttft:p99<2s`:    `the quotes of "acme ttft:p99<2s do not close`,
		"class=a class=b ttft:p99<2s": "class is given twice",
		"class=rag":                   "expected metric:stat<limit",
		"klass=rag ttft:p99<2s":       "unknown figure",
		"class=rag ttfd:p99<2s":       "did you mean ttft?",
		"":                            "expected metric:stat<limit, such as ttft:p99<500ms",
		"ttft":                        "expected metric:stat<limit",
		"ttft<500ms":                  "expected metric:stat<limit",
		"ttft:p99":                    "expected metric:stat<limit",
		"ttfd:p99<500ms":              "did you mean ttft?",
		"banana:p99<500ms":            "expected one of ttft, ttfa,",
		"ttft:p99>500ms":              `ttft is better low; write "<"`,
		"throughput:min<45":           `throughput is better high; write ">"`,
		"ttft:p0<500ms":               "from p1 to p9, or one from p10 up",
		"ttft:p0.5<500ms":             "from p1 to p9, or one from p10 up",
		"ttft:p5.5<500ms":             "from p1 to p9, or one from p10 up",
		"ttft:p75.5<500ms":            "expected a whole one below p90",
		"ttft:p100<500ms":             "expected one below 100",
		"ttft:p100.5<500ms":           "expected one below 100",
		"ttft:p990<500ms":             "expected one below 100",
		"ttft:p99.9999<500ms":         "at most three decimals",
		"ttft:p<500ms":                "unknown statistic",
		"ttft:p-1<500ms":              "unknown statistic",
		"ttft:p99.<500ms":             "unknown statistic",
		"ttft:99<500ms":               "unknown statistic",
		"ttft:median<500ms":           "unknown statistic",
		"throughput:p99>45":           "write throughput:min",
		"error:p99<1%":                "write error:rate",
		"ttft:p99<500":                "has no unit; write it as in 500ms",
		"ttft:p99<":                   "expected a duration such as 500ms",
		"ttft:p99<fast":               "expected a duration such as 500ms",
		"ttft:p99<<500ms":             "expected a duration such as 500ms",
		"ttft:p99<-500ms":             "above 0 and at most 24h",
		"ttft:p99<0s":                 "above 0 and at most 24h",
		"ttft:p99<25h":                "above 0 and at most 24h",
		"ttft:p99<1e30h":              "expected a duration such as 500ms",
		"ttft:p99<9999999999999h":     "expected a duration such as 500ms",
		"ttft:p99<NaN":                "has no unit",
		"error:rate<0":                "above 0 and below 1",
		"error:rate<100%":             "above 0 and below 1",
		"error:rate<-1%":              "above 0 and below 1",
		"error:rate<NaN":              "above 0 and below 1",
		"error:rate<few":              "expected a share such as 1%",
		"good:fraction>1":             "above 0 and below 1",
		"throughput:min>0":            "above 0 and at most 1e+09",
		"throughput:min>inf":          "above 0 and at most 1e+09",
		"throughput:min>45req/s":      "expected tokens per second, such as 45",
		"kv:max<-1MB":                 "above 0 and at most 1e+09",
		"cost:max<$":                  "expected dollars, such as $2.50",
		"ttft:p99<500ms,tpot:p9<1":    "expected a duration such as 500ms",
	} {
		o, err := Parse(text)
		if err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", text, o)
			continue
		}
		if got := err.Error(); !strings.Contains(got, part) || !strings.HasPrefix(got, "objective ") || strings.Contains(got, "\n") {
			t.Errorf("Parse(%q): %q, want one line with %q", text, got, part)
		}
	}
}

func TestParseAll(t *testing.T) {
	t.Parallel()
	got := must.Get(ParseAll([]string{"ttft:p99<500ms", "error:rate<1%"}))(t)
	texts := []string{got[0].Text, got[1].Text}
	expect.Same(t, []string{"ttft:p99<500ms", "error:rate<1%"}, texts)
	if got, err := ParseAll([]string{"ttft:p99<500ms", "oops"}); err == nil || got != nil {
		t.Errorf("a bad second objective gives %v, %v, want an error and nothing else", got, err)
	}
}

// FuzzParse holds every objective that parses to its canonical text, which
// must parse to the same objective, and to limits that make sense.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"ttft:p99<500ms", "e2e:p99.9<=1.2s", "error:rate<0.0000000007%", "good:fraction>0.99",
		"throughput:min>45.5", "kv:max<1.1GB", "cost:max<$2.5", "tpot:mean<1h2m3.0000004s", "itl:p07<1ns", "x:<"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := Parse(text)
		if err != nil {
			return
		}
		if !(o.Limit > 0) || math.IsInf(o.Limit, 0) || o.P < 0 || o.P >= 1 {
			t.Fatalf("Parse(%q) = %+v", text, o)
		}
		again, err := Parse(o.Text)
		if err != nil {
			t.Fatalf("Parse(%q) gives %q, which does not parse: %v", text, o.Text, err)
		}
		if diff := cmp.Diff(o, again); diff != "" {
			t.Fatalf("%q (-first +again):\n%s", text, diff)
		}
	})
}
