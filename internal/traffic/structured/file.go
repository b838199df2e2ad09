package structured

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/hub"
)

// maxFile bounds a file of tools or schemas.
const maxFile = 64 << 20

// toolValue is one tool as OpenAI, Anthropic and the Berkeley function-calling
// leaderboard write it, or a row that has several.
type toolValue struct {
	llm.Tool
	InputSchema llm.JSON        `json:"input_schema"`
	Function    json.RawMessage `json:"function"`
	Tools       []toolValue     `json:"tools"`
}

// tools gives those of a value.
func (v *toolValue) tools() ([]llm.Tool, error) {
	var list []toolValue
	switch {
	case len(v.Tools) > 0:
		list = v.Tools
	case len(v.Function) > 0 && v.Function[0] == '[':
		if err := json.Unmarshal(v.Function, &list); err != nil {
			return nil, err
		}
	case len(v.Function) > 0:
		list = make([]toolValue, 1)
		if err := json.Unmarshal(v.Function, &list[0].Tool); err != nil {
			return nil, err
		}
	case v.Name == "":
		return nil, errors.New(`expected a tool with a name, such as {"name": "search", "parameters": {…}}, or {"tools": […]}`)
	default:
		tool := v.Tool
		if v.InputSchema != nil {
			tool.Parameters = v.InputSchema
		}
		tool.Name, tool.Parameters = ToolName(tool.Name), ToSchema(tool.Parameters)
		return []llm.Tool{tool}, CheckTools(&llm.Toolset{Tools: []llm.Tool{tool}})
	}
	var all []llm.Tool
	for i := range list {
		tools, err := list[i].tools()
		if err != nil {
			return nil, err
		}
		all = append(all, tools...)
	}
	return all, CheckTools(&llm.Toolset{Tools: all})
}

// pythonTypes are what the Berkeley leaderboard calls the types of JSON.
var pythonTypes = map[string]string{"dict": "object", "float": "number", "tuple": "array", "list": "array", "any": "string", "int": "integer", "bool": "boolean", "str": "string"}

// ToSchema gives a schema with the types of Python in the words of JSON Schema,
// and any other as it is.
func ToSchema(raw llm.JSON) llm.JSON {
	var tree any
	if json.Unmarshal(raw, &tree) != nil || !renameTypes(tree) {
		return raw
	}
	out, err := json.Marshal(tree)
	if err != nil {
		return raw
	}
	return out
}

func renameTypes(tree any) (changed bool) {
	switch node := tree.(type) {
	case map[string]any:
		if kind, ok := node["type"].(string); ok && pythonTypes[kind] != "" {
			node["type"], changed = pythonTypes[kind], true
		}
		for _, inner := range node {
			changed = renameTypes(inner) || changed
		}
	case []any:
		for _, inner := range node {
			changed = renameTypes(inner) || changed
		}
	}
	return changed
}

// ParseTools reads the tools of one value.
func ParseTools(raw []byte) ([]llm.Tool, error) {
	var value toolValue
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, jsonError(err)
	}
	return value.tools()
}

// ParseFunctions reads the functions of a row of the Berkeley leaderboard.
func ParseFunctions(raw []byte) ([]llm.Tool, error) {
	return ParseTools([]byte(`{"function":` + string(raw) + `}`))
}

// ReadTools reads the tools of a file: a JSON array of them, or a value a line.
// What is there twice is taken once; of several with one name, which rows of
// questions have, the first.
func ReadTools(path string) (all []llm.Tool, err error) {
	seen := map[string]llm.Tool{}
	err = readValues(path, func(raw []byte) error {
		tools, err := ParseTools(raw)
		for _, tool := range tools {
			same, twice := seen[tool.Name]
			if !twice {
				seen[tool.Name] = tool
				all = append(all, tool)
			} else if err == nil && len(tools) == 1 && !reflect.DeepEqual(same, tool) {
				err = fmt.Errorf("%s: is the name of another tool before it: rename one of them", text.Brief(tool.Name))
			}
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: holds no tool", path)
	}
	return all, err
}

// ReadSchemas reads the schemas of a file: a JSON array of them, or one a line;
// each alone, or as "schema" or "json_schema" of a row.
func ReadSchemas(path string) (all []llm.JSON, err error) {
	err = readValues(path, func(raw []byte) error {
		var row struct {
			Schema     llm.JSON `json:"schema"`
			JSONSchema llm.JSON `json:"json_schema"`
		}
		if json.Unmarshal(raw, &row) == nil {
			switch {
			case row.JSONSchema != nil:
				raw = row.JSONSchema
				if json.Unmarshal(raw, &row) == nil && row.Schema != nil {
					raw = row.Schema
				}
			case row.Schema != nil:
				raw = row.Schema
			}
		}
		if _, err := Compile(raw); err != nil {
			return err
		}
		all = append(all, bytes.Clone(raw))
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: holds no schema", path)
	}
	return all, err
}

// readValues calls take for each value of a file: an array's, or those that stand
// one after another, as lines do. Errors name the file and the line.
func readValues(path string, take func(raw []byte) error) error {
	local, err := hub.Dataset(path)
	if err != nil {
		return err
	}
	data, err := readWhole(local)
	if err != nil {
		return err
	}
	place := func(offset int) string {
		return fmt.Sprintf("%s:%d", path, 1+bytes.Count(data[:min(offset, len(data))], []byte{'\n'}))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", place(int(d.InputOffset())), jsonError(err))
		}
		end := int(d.InputOffset())
		start := end - len(raw)
		var values []json.RawMessage
		if raw[0] != '[' {
			values = append(values, raw)
		} else if err := json.Unmarshal(raw, &values); err != nil {
			return fmt.Errorf("%s: %w", place(start), err)
		}
		for i, value := range values {
			at := start
			if len(values) > 1 || raw[0] == '[' {
				at += max(0, bytes.Index(raw, value))
			}
			if err := take(value); err != nil {
				if raw[0] == '[' {
					return fmt.Errorf("%s: [%d]: %w", place(at), i, err)
				}
				return fmt.Errorf("%s: %w", place(at), err)
			}
		}
	}
}

func readWhole(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: is longer than %d MB", path, maxFile>>20)
	}
	return data, err
}

// jsonError says in one line why a value cannot be read.
func jsonError(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return errors.New(text.Mismatch(wrong))
	}
	return fmt.Errorf("is not JSON: %w", err)
}
