package quality

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// judgeLimit is how long a judge model may take for one answer.
const judgeLimit = time.Minute

// judgePrompt is what a judge model is told, unless the plan says otherwise.
const judgePrompt = `You grade one answer. You are given a question, a criterion and the answer. ` +
	`Reply with a JSON object and nothing else: {"score": S}, where S is a number from 0 (does not meet the criterion) to 1 (meets it fully).`

// Asker makes the function that asks a judge model; nil where there is none.
func Asker(j *Judge) func(ctx context.Context, question, criterion, answer string) (float64, error) {
	if j == nil {
		return nil
	}
	client := &http.Client{Timeout: judgeLimit}
	return func(ctx context.Context, question, criterion, answer string) (float64, error) {
		prompt := cmp.Or(j.Prompt, judgePrompt)
		said, err := j.ask(ctx, client, prompt, fmt.Sprintf("Question:\n%s\n\nCriterion:\n%s\n\nAnswer:\n%s", question, criterion, answer))
		if err != nil {
			return 0, err
		}
		return verdictOf(said)
	}
}

// ask sends one chat request and gives the text of the reply.
func (j *Judge) ask(ctx context.Context, client *http.Client, system, user string) (string, error) {
	body, err := json.Marshal(map[string]any{"model": j.Model, "temperature": 0, "max_tokens": 64,
		"messages": []map[string]string{{"role": "system", "content": system}, {"role": "user", "content": user}}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, judgeAddress(j.URL), bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if j.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+j.APIKey)
	}
	res, err := client.Do(req)
	if err != nil {
		return "", errors.New("it did not answer")
	}
	defer res.Body.Close()
	content, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("HTTP %d", res.StatusCode)
	}
	var reply struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(content, &reply); err != nil || len(reply.Choices) == 0 {
		return "", errors.New("its reply is not a chat completion")
	}
	return reply.Choices[0].Message.Content, nil
}

// judgeAddress completes a base URL by the path of the chat API, before its
// query.
func judgeAddress(base string) string {
	const path = "/chat/completions"
	if before, query, has := strings.Cut(base, "?"); has {
		return judgeAddress(before) + "?" + query
	}
	base = strings.TrimRight(base, "/")
	switch {
	case strings.HasSuffix(base, path):
		return base
	case strings.HasSuffix(base, "/v1"):
		return base + path
	}
	return base + "/v1" + path
}

// verdictOf reads the judge's word. Anything but the one object that was asked
// for is no judgement, and least of all a pass.
func verdictOf(text string) (float64, error) {
	var said struct {
		Score *float64 `json:"score"`
	}
	d := json.NewDecoder(strings.NewReader(strings.TrimSpace(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&said); err != nil || said.Score == nil {
		return 0, errors.New(`its reply is not {"score": S}`)
	}
	if _, more := d.Token(); !errors.Is(more, io.EOF) {
		return 0, errors.New(`its reply holds more than {"score": S}`)
	}
	if !(*said.Score >= 0 && *said.Score <= 1) {
		return 0, fmt.Errorf("its score is %g, not from 0 to 1", *said.Score)
	}
	return *said.Score, nil
}
