package structured

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"redline/internal/llm"
	"redline/internal/traffic/token"
)

// propertyNames are those of made-up schemas, in the order in which they are used.
var propertyNames = []string{"query", "limit", "city", "date", "user_id", "format", "language", "unit", "path", "email", "amount", "currency",
	"status", "tags", "page", "sort", "verbose", "title", "body", "start", "end", "color", "kind", "note"}

// tokensPerProperty is how long a made-up property is, about.
const tokensPerProperty = 30

// MakeTool makes up a tool of so many tokens, which its description fills up;
// it is as short as it can be where that is longer.
func MakeTool(text token.Text, r *rand.Rand, number, tokens int) llm.Tool {
	tool := llm.Tool{Name: fmt.Sprintf("tool_%d", number), Parameters: makeObject(text, r, tokens)}
	if left := tokens - text.Count(tool.Name) - text.Count(string(tool.Parameters)); left > 0 {
		tool.Description = string(text.Compose(nil, r, left))
	}
	return tool
}

// MakeSchema makes up a schema of about so many tokens. Its description tells it
// from every other, also for a server that keeps compiled ones by their text.
func MakeSchema(text token.Text, r *rand.Rand, tokens int) llm.JSON {
	const least = 8 // words that tell any two schemas apart
	bare := makeObject(text, rand.New(rand.NewPCG(r.Uint64(), r.Uint64())), tokens)
	return describe(bare, string(text.Compose(nil, r, max(least, tokens-text.Count(string(bare))))))
}

// makeObject makes up the schema of an object with properties of all kinds.
func makeObject(text token.Text, r *rand.Rand, tokens int) llm.JSON {
	properties, required := map[string]any{}, []string{}
	for i := range min(max(tokens/tokensPerProperty, 1), len(propertyNames)) {
		name := propertyNames[i]
		properties[name] = makeProperty(text, r, i)
		if i == 0 || r.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(err) // maps of texts can be written
	}
	return raw
}

func describe(schema llm.JSON, about string) llm.JSON {
	quoted, err := json.Marshal(about)
	if err != nil {
		panic(err)
	}
	return llm.JSON(fmt.Sprintf(`{"description":%s,%s`, quoted, schema[1:]))
}

func makeProperty(text token.Text, r *rand.Rand, i int) map[string]any {
	about := func(p map[string]any) map[string]any {
		p["description"] = string(text.Compose(nil, r, 6))
		return p
	}
	switch i % 5 {
	case 1:
		return about(map[string]any{"type": "integer", "minimum": 0, "maximum": 100})
	case 2:
		return about(map[string]any{"type": "string", "enum": []string{"low", "medium", "high"}})
	case 3:
		return about(map[string]any{"type": "boolean"})
	case 4:
		return about(map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "maxItems": 4})
	}
	return about(map[string]any{"type": "string"})
}
