package main

import (
	"encoding/json"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/traffic/dist"
	"redline/internal/traffic/media"
	"redline/internal/traffic/workload"
)

const draft = "https://json-schema.org/draft/2020-12/schema"

// generate gives every schema by name. The working directory must be the
// module's, because descriptions are the comments of its source files.
func generate() (map[string][]byte, error) {
	plan, err := reflectSchema(reflect.TypeFor[config.Config](), reflector("yaml", inPlan))
	if err != nil {
		return nil, err
	}
	spell(plan)
	res, err := reflectSchema(reflect.TypeFor[result.Result](), reflector("json", inResult))
	if err != nil {
		return nil, err
	}
	res.Properties.Set("schema", &jsonschema.Schema{Const: result.Schema})
	define(res)
	for def, key := range map[string]string{"slo.Verdict": "outcome", "result.Verdict": "slo", "result.Variant": "slo", "result.Curve": "outcome"} {
		node, _ := res.Definitions[def].Properties.Get(key)
		if node.Items != nil {
			node = node.Items
		}
		node.Enum = choice(slo.Met, slo.Missed, slo.Undecided, slo.NotJudged, slo.None).Enum
	}
	watched, err := reflectSchema(reflect.TypeFor[telemetry.Line](), reflector("json", inResult))
	if err != nil {
		return nil, err
	}
	subject, err := reflectSchema(reflect.TypeFor[telemetry.Subject](), reflector("json", inResult))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, s := range []struct {
		name, title string
		schema      *jsonschema.Schema
	}{
		{"plan", "A redline plan", plan},
		{"result", "The result of a redline run", res},
		{"record", "One line of a redline record log", recordLine()},
		{"telemetry", "One line of a redline telemetry log", telemetryLine(watched, subject)},
		{"truth", "One line of the simulated engine's truth log", truthLine()},
	} {
		s.schema.Version, s.schema.Title = draft, s.title
		s.schema.ID = jsonschema.ID("urn:redline:" + s.name + ":1")
		data, err := json.MarshalIndent(s.schema, "", "  ")
		if err != nil {
			return nil, err
		}
		out[s.name] = append(data, '\n')
	}
	return out, nil
}

// spell adds the keys of a plan that have the names of their flags.
func spell(plan *jsonschema.Schema) {
	for _, o := range config.Options {
		home, name := blockOf(plan, o.Key)
		for _, also := range []string{o.Also, o.Top()} {
			if also == "" {
				continue
			}
			again := &jsonschema.Schema{Type: "string"}
			if home.Properties != nil {
				kept, _ := home.Properties.Get(name)
				again = new(*kept)
			}
			again.Description = "The same as " + o.Key + "."
			block, key := blockOf(plan, also)
			block.Properties.Set(key, again)
		}
	}
}

// blockOf gives the schema of the block that a dotted key stands in, and the key's
// last part.
func blockOf(plan *jsonschema.Schema, path string) (*jsonschema.Schema, string) {
	block := plan
	for {
		key, rest, more := strings.Cut(path, ".")
		if !more || block.Properties == nil {
			return block, key
		}
		path = rest
		block, _ = block.Properties.Get(key)
		if name, ok := strings.CutPrefix(block.Ref, "#/$defs/"); ok {
			block = plan.Definitions[name]
		}
	}
}

// define describes figures by the definitions of their table.
func define(res *jsonschema.Schema) {
	for _, f := range figure.All {
		if !f.Defines() {
			continue
		}
		for _, from := range []*jsonschema.Schema{res.Definitions["result.Point"], res} {
			node := from
			for key := range strings.SplitSeq(f.At, ".") {
				if name, ok := strings.CutPrefix(node.Ref, "#/$defs/"); ok {
					node = res.Definitions[name]
				}
				if node, _ = node.Properties.Get(key); node == nil {
					break
				}
			}
			if node != nil {
				node.Description = f.Definition()
				break
			}
		}
	}
}

// reflectSchema gives the schema of a Go type, described by its comments.
func reflectSchema(t reflect.Type, r *jsonschema.Reflector) (*jsonschema.Schema, error) {
	for _, dir := range []string{"plan/config", "judge/result", "judge/metric", "judge/slo", "drive/client", "drive/load", "traffic/arrival", "traffic/workload", "traffic/dist", "traffic/trace", "drive/wire", "twin/sim", "catalog", "observe/telemetry", "observe/engine"} {
		if err := r.AddGoComments("redline", "internal/"+dir, jsonschema.WithFullComment()); err != nil {
			return nil, err
		}
	}
	for key, comment := range r.CommentMap {
		r.CommentMap[key] = strings.Join(strings.Fields(comment), " ")
	}
	return r.ReflectFromType(t), nil
}

// reflector reads json or yaml tags. In the plan every key may be left out.
func reflector(tag string, special func(reflect.Type) *jsonschema.Schema) *jsonschema.Reflector {
	return &jsonschema.Reflector{
		Anonymous:                  true,
		ExpandedStruct:             true,
		FieldNameTag:               tag,
		RequiredFromJSONSchemaTags: tag == "yaml",
		Mapper:                     special,
		Namer:                      qualifiedName,
	}
}

// qualifiedName names a type by its package too, since every package has its own
// Spec. Types without a name stay so, and are written out in place.
func qualifiedName(t reflect.Type) string {
	if t.Name() == "" {
		return ""
	}
	return path.Base(t.PkgPath()) + "." + t.Name()
}

// inResult and inPlan give the types whose documents are not what their Go
// fields look like.

func inResult(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[metric.Dist]():
		return distribution()
	case reflect.TypeFor[slo.Standing]():
		return &jsonschema.Schema{Type: "string"} // each document has some of them
	case reflect.TypeFor[result.Validity]():
		return choice(result.Valid, result.Invalid, result.Incomplete)
	case reflect.TypeFor[holdup.Holdup]():
		return &jsonschema.Schema{Type: "array", Items: integer(), MinItems: count(3), MaxItems: count(4),
			Description: "[kind, start, length, lead] in µs: the lead is how much of the beginning may not have been held up, 0 where it is absent; kind 0: threads of this program, 1: the machine, 2: the embedded engine, 3: a wait of one thread at some time in the stretch, as long as the stretch without its lead."}
	}
	return nil
}

func inPlan(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9.]+(ns|us|µs|μs|ms|s|m|h))+$|^0$`,
			Description: "A duration such as 30s or 1m30s."}
	case reflect.TypeFor[config.Objectives]():
		return oneOf("Objectives: keys such as p95_latency_ms with numbers, or texts such as ttft:p99<500ms.",
			&jsonschema.Schema{Type: "object", AdditionalProperties: number()},
			&jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}})
	case reflect.TypeFor[config.Metadata]():
		return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{
			OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}}
	case reflect.TypeFor[workload.Dist]():
		return oneOf("A distribution such as lognormal(512,0.6), a number of tokens, or its parts.",
			&jsonschema.Schema{Type: "string"}, integer(), parts[workload.Dist]())
	case reflect.TypeFor[workload.Spec]():
		return oneOf("A preset, a terse form such as fixed(64,100), a file, or its parts.",
			&jsonschema.Schema{Type: "string"}, parts[workload.Spec]())
	case reflect.TypeFor[workload.Part]():
		return oneOf("A preset, a terse form such as fixed(64,100), a file, or its parts.",
			&jsonschema.Schema{Type: "string"}, parts[workload.Traffic]())
	case reflect.TypeFor[media.Spec]():
		return oneOf("Images: sizes and more such as '1080p:0.3,512x512:0.7 count=uniform(1,4)', or their parts.",
			&jsonschema.Schema{Type: "string"}, parts[media.Spec]())
	case reflect.TypeFor[media.Sizes]():
		return oneOf("Sizes with their shares, such as 1080p:0.3,512x512:0.7.", &jsonschema.Schema{Type: "string"},
			&jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "object", AdditionalProperties: number()}}}})
	case reflect.TypeFor[dist.Delay]():
		return &jsonschema.Schema{Type: "string", Description: "A pause such as 8s, uniform(1s,5s) or lognormal(8s,0.8)."}
	case reflect.TypeFor[dist.Popularity]():
		return &jsonschema.Schema{Type: "string", Description: "uniform or zipf(1.1)."}
	case reflect.TypeFor[dist.Bucket]():
		return &jsonschema.Schema{Type: "string", Description: "A range of lengths such as 0..512."}
	case reflect.TypeFor[[]string]():
		text := &jsonschema.Schema{Type: "string"}
		return oneOf("", text, &jsonschema.Schema{Type: "array", Items: text})
	}
	return nil
}

// parts gives the block form of a type that has others too.
func parts[T any]() *jsonschema.Schema {
	r := reflector("yaml", func(t reflect.Type) *jsonschema.Schema {
		if t == reflect.TypeFor[T]() {
			return nil
		}
		return inPlan(t)
	})
	r.DoNotReference = true
	s := r.ReflectFromType(reflect.TypeFor[T]())
	s.Version = ""
	return s
}

func oneOf(description string, forms ...*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Description: description, OneOf: forms}
}

// distribution is a flat object with a key for each percentile.
func distribution() *jsonschema.Schema {
	interval := &jsonschema.Schema{Type: "array", Items: number(), MinItems: count(2), MaxItems: count(2)}
	s := object(map[string]*jsonschema.Schema{
		"n":         integer(),
		"mean":      number(),
		"max":       number(),
		"confident": {Type: "array", Items: &jsonschema.Schema{Type: "string", Pattern: percentile}},
		"ci": {Type: "object", PatternProperties: map[string]*jsonschema.Schema{percentile: interval},
			AdditionalProperties: jsonschema.FalseSchema},
		"low":  ends("the lowest that figures can have been without what the measuring machine did; what is absent is as it was measured"),
		"high": ends("the highest likewise"),
	}, "n", "mean", "max")
	s.PatternProperties = map[string]*jsonschema.Schema{percentile: number()}
	s.Description = "A distribution: its percentiles under keys such as p50 and p999."
	return s
}

const percentile = "^p[0-9]+$"

// ends are figures by percentile, mean or max.
func ends(about string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Description: about, AdditionalProperties: jsonschema.FalseSchema,
		PatternProperties: map[string]*jsonschema.Schema{"^(mean|max|p[0-9]+)$": number()}}
}

func logHeader(schema string) *jsonschema.Schema {
	return object(map[string]*jsonschema.Schema{
		"schema":         {Const: schema},
		"run":            {Type: "string"},
		"origin_unix_ns": integer(),
		"origin_mono_ns": integer(),
	}, "schema", "run", "origin_unix_ns", "origin_mono_ns")
}

// telemetryLine is a header or a line, with the definitions of both beside
// them.
func telemetryLine(line, subject *jsonschema.Schema) *jsonschema.Schema {
	definitions := line.Definitions
	maps.Copy(definitions, subject.Definitions)
	line.Definitions, subject.Definitions, line.Version, subject.Version = nil, nil, "", ""
	header := logHeader(telemetry.Schema)
	header.Properties.Set("subject", subject)
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{header, line}, Definitions: definitions}
}

func recordLine() *jsonschema.Schema {
	header := logHeader(record.Schema)
	keys, begun := map[string]*jsonschema.Schema{}, map[string]*jsonschema.Schema{}
	for _, c := range record.Columns {
		column := &jsonschema.Schema{Type: "array", Items: natural()}
		switch c.At(&record.Record{}).(type) {
		case *int64, *int:
			column = natural()
		case **int:
			column = &jsonschema.Schema{Type: "integer"}
		case *bool:
			column = &jsonschema.Schema{Type: "boolean"}
		case *string:
			column = &jsonschema.Schema{Type: "string"}
			if c.Values != nil {
				column = choice(c.Values()...)
			}
		}
		if keys[c.Key] = column; c.Has(record.Early) {
			begun[c.Key] = column
		}
	}
	request := object(keys, "id", "session", "turn", "try", "outcome")
	request.Description = "One request that has ended. Stamps are nanoseconds from the run's origin; what is not known is absent."
	opening := object(begun, "id", "session", "turn", "try")
	opening.Description = "One request that was in flight at the next mark: what was known of it then. The line of its end follows, unless the run was cut off."
	mark := object(map[string]*jsonschema.Schema{"mark": natural()}, "mark")
	mark.Description = "A moment, in nanoseconds from the run's origin: every request begun before it has ended above, or has a line above that says so."
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{header, request, opening, mark}}
}

func truthLine() *jsonschema.Schema {
	times := &jsonschema.Schema{Type: "array", Items: natural()}
	s := object(map[string]*jsonschema.Schema{
		"id": {Type: "string"}, "conn": {Type: "string"}, "arrived_ns": natural(), "before_ns": times, "after_ns": times,
	}, "id", "conn", "arrived_ns", "before_ns", "after_ns")
	s.Description = "The real-time clock when one request had been read, and just before and just after the write of each output event of its answer."
	return s
}

// object is a closed object with its keys in order.
func object(keys map[string]*jsonschema.Schema, required ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: required,
		AdditionalProperties: jsonschema.FalseSchema}
	var names []string
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s.Properties.Set(name, keys[name])
	}
	return s
}

func choice[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

func number() *jsonschema.Schema  { return &jsonschema.Schema{Type: "number"} }
func integer() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer"} }
func natural() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer", Minimum: "0"} }
func count(n uint64) *uint64      { return &n }
