package golden

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/llm"
	"redline/internal/traffic/structured"
)

// standardRow is a question as published sets write it: GSM8K, MMLU, MMLU-Pro,
// GPQA, ARC, the Berkeley function-calling leaderboard, and plain pairs of a
// question and its answer.
type standardRow struct {
	ID         json.RawMessage   `json:"id"`
	QuestionID json.RawMessage   `json:"question_id"`
	Question   json.RawMessage   `json:"question"`
	Input      string            `json:"input"`
	Options    []string          `json:"options"`
	Choices    json.RawMessage   `json:"choices"`
	Answer     json.RawMessage   `json:"answer"`
	AnswerKey  string            `json:"answerKey"`
	Target     json.RawMessage   `json:"target"`
	Subject    string            `json:"subject"`
	Category   string            `json:"category"`
	Function   json.RawMessage   `json:"function"`
	Truth      []json.RawMessage `json:"ground_truth"`

	GPQAQuestion string `json:"Question"`
	Correct      string `json:"Correct Answer"`
	Incorrect1   string `json:"Incorrect Answer 1"`
	Incorrect2   string `json:"Incorrect Answer 2"`
	Incorrect3   string `json:"Incorrect Answer 3"`
}

// What is asked for behind the questions of published sets, and how long answers
// may be.
const (
	askForLetter = "\n\nAnswer with the letter of the right option alone."
	askForNumber = "\n\nThink step by step, and end with the number that is the answer."
	choiceTokens = 256
	numberTokens = 512
	callTokens   = 256
)

// letters name the options of a question.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// readStandard makes a question of a row of a published set; nil where it is none.
func readStandard(raw []byte, truths map[string][]json.RawMessage) (*line, error) {
	var exact map[string]json.RawMessage // encoding/json takes Question for question
	var row standardRow
	if json.Unmarshal(raw, &exact) != nil || exact["prompt"] != nil || exact["messages"] != nil || exact["expect"] != nil || json.Unmarshal(raw, &row) != nil {
		return nil, nil
	}
	if exact["Correct Answer"] != nil {
		var question string
		if err := json.Unmarshal(exact["Question"], &question); err != nil {
			return nil, errors.New("Question: expected a text")
		}
		return gpqaLine(question, row), nil
	}
	l := &line{ID: firstText(row.ID, row.QuestionID)}
	for _, tag := range []string{row.Category, row.Subject} {
		if tag != "" {
			l.Tags = append(l.Tags, tag)
		}
	}
	if row.Function != nil {
		return callLine(l, row, truths)
	}
	question := cmp.Or(textOf(row.Question), row.Input)
	options, labels := optionsOf(row)
	answer := cmp.Or(textOf(row.Answer), row.AnswerKey, textOf(row.Target))
	switch _, reasoned, numbered := strings.Cut(answer, "####"); {
	case question == "" || answer == "":
		return nil, nil
	case len(options) > 0:
		return choiceLine(l, question, options, labels, answer)
	case numbered:
		l.Prompt, l.MaxTokens = new(question+askForNumber), numberTokens
		number := strings.ReplaceAll(strings.TrimSpace(reasoned), ",", "")
		l.Expect = json.RawMessage(fmt.Sprintf(`{"number":{"value":%s,"tolerance":0}}`, number))
	default:
		l.Prompt = &question
		l.Expect = mustJSON(map[string]any{"one_of": []string{answer}, "ignore_case": true})
	}
	return l, nil
}

// optionsOf are the options of a question with the names that a set gives them.
func optionsOf(row standardRow) (options, labels []string) {
	options = row.Options
	var labelled struct {
		Text  []string `json:"text"`
		Label []string `json:"label"`
	}
	switch {
	case row.Choices == nil:
	case json.Unmarshal(row.Choices, &options) == nil:
	case json.Unmarshal(row.Choices, &labelled) == nil:
		return labelled.Text, labelled.Label
	}
	for i := range min(len(options), len(letters)) {
		labels = append(labels, letters[i:i+1])
	}
	return options, labels
}

// choiceLine asks for one of several options. An answer is a letter, or the place
// of the option from 0 on.
func choiceLine(l *line, question string, options, labels []string, answer string) (*line, error) {
	if len(options) > len(letters) || len(labels) != len(options) {
		return nil, fmt.Errorf("expected up to %d options, each with its name", len(letters))
	}
	place := slices.Index(labels, answer)
	if n, err := parseInt(answer); place < 0 && err == nil {
		place = n
	}
	if place < 0 || place >= len(options) {
		return nil, fmt.Errorf("answer: %.40q is none of the %d options", answer, len(options))
	}
	var b strings.Builder
	b.WriteString(question + "\n")
	for i, option := range options {
		fmt.Fprintf(&b, "\n%c. %s", letters[i], option)
	}
	l.Prompt, l.MaxTokens = new(b.String()+askForLetter), choiceTokens
	l.Expect = mustJSON(map[string]any{"choice": letters[place : place+1]})
	return l, nil
}

// gpqaLine puts the right answer among the wrong ones, in an order that depends on
// the question alone.
func gpqaLine(question string, row standardRow) *line {
	options := []string{row.Correct, row.Incorrect1, row.Incorrect2, row.Incorrect3}
	h := fnv.New64a()
	h.Write([]byte(question))
	order := rand.New(rand.NewPCG(h.Sum64(), 1)).Perm(len(options))
	shuffled := make([]string, len(options))
	right := 0
	for i, k := range order {
		if shuffled[i] = strings.TrimSpace(options[k]); k == 0 {
			right = i
		}
	}
	l, _ := choiceLine(&line{}, strings.TrimSpace(question), shuffled, strings.Split(letters[:len(options)], ""), letters[right:right+1])
	return l
}

// callLine asks for calls of functions, whose right ones stand beside it or in the
// leaderboard's own file of answers.
func callLine(l *line, row standardRow, truths map[string][]json.RawMessage) (*line, error) {
	var turns [][]llm.Message
	if json.Unmarshal(row.Question, &turns) != nil || len(turns) == 0 {
		return nil, errors.New("question: expected a list of turns, each a list of messages")
	}
	if len(turns) > 1 {
		return nil, errors.New("question: has several turns, expected one: sets of several turns run their functions, which are not here")
	}
	tools, err := structured.ParseFunctions(row.Function)
	if err != nil {
		return nil, err
	}
	truth := row.Truth
	if truth == nil {
		truth = truths[l.ID]
	}
	if truth == nil && !strings.Contains(l.ID, "irrelevance") {
		return nil, fmt.Errorf("%s: has no ground_truth: expected it in the row, or the file possible_answer/NAME beside the questions", cmp.Or(l.ID, "the question"))
	}
	l.Messages, l.Tools, l.MaxTokens = turns[0], tools, callTokens
	l.Expect = mustJSON(map[string]any{"calls": append([]json.RawMessage{}, truth...)})
	return l, nil
}

// readTruths reads the answers that the leaderboard keeps beside its questions.
func readTruths(path string) map[string][]json.RawMessage {
	data, err := os.ReadFile(filepath.Join(filepath.Dir(path), "possible_answer", filepath.Base(path)))
	if err != nil {
		return nil
	}
	truths := map[string][]json.RawMessage{}
	for text := range bytes.Lines(data) {
		var row struct {
			ID    string            `json:"id"`
			Truth []json.RawMessage `json:"ground_truth"`
		}
		if json.Unmarshal(text, &row) == nil {
			truths[row.ID] = row.Truth
		}
	}
	return truths
}

// toLines gives a file as lines of JSON: an array's elements, or the rows of a
// table whose first row names its columns, become a line each.
func toLines(name string, data []byte) ([]byte, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	var out bytes.Buffer
	switch {
	case len(text) > 0 && text[0] == '[':
		var rows []json.RawMessage
		if err := json.Unmarshal(text, &rows); err != nil {
			return nil, fmt.Errorf("%s: is not JSON: %w", name, err)
		}
		for _, row := range rows {
			if err := json.Compact(&out, row); err != nil {
				return nil, err
			}
			out.WriteByte('\n')
		}
	case strings.EqualFold(filepath.Ext(name), ".csv"):
		r := csv.NewReader(bytes.NewReader(text))
		head, err := r.Read()
		for err == nil {
			var cells []string
			if cells, err = r.Read(); err == nil {
				row := map[string]string{}
				for i, cell := range cells {
					row[head[i]] = cell
				}
				out.Write(append(mustJSON(row), '\n'))
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	default:
		return data, nil
	}
	return out.Bytes(), nil
}

// mustJSON writes what JSON can hold.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// textOf is a value as text: a number as it is written.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if len(raw) == 0 || raw[0] == '[' || raw[0] == '{' || string(raw) == "null" {
		return ""
	}
	return string(raw)
}

func firstText(values ...json.RawMessage) string {
	for _, v := range values {
		if text := textOf(v); text != "" {
			return text
		}
	}
	return ""
}
