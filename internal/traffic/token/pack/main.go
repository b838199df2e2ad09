// Command pack turns a published vocabulary, o200k_base or cl100k_base, into the
// compact file that package token embeds: a flate stream of one length byte per token in
// rank order, a zero byte, then the bytes of all tokens in the same order.
// Lengths and letters compress better apart than taken in turn.
package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack NAME.tiktoken OUTPUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(asset, output string) error {
	published, err := fetch(asset)
	if err != nil {
		return err
	}
	tokens, err := parse(bytes.NewReader(published))
	if err != nil {
		return fmt.Errorf("%s: %w", asset, err)
	}
	packed, err := pack(tokens)
	if err != nil {
		return err
	}
	return os.WriteFile(output, packed, 0o644)
}

// source is a module that holds the published files.
const source = "github.com/pkoukk/tiktoken-go-loader@v0.0.2"

// fetch reads a file of the source, which the go command downloads and verifies.
func fetch(asset string) ([]byte, error) {
	out, err := exec.Command("go", "mod", "download", "-json", source).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download %s: %w: %s", source, err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(module.Dir, "assets", asset))
}

// parse reads lines of "base64 rank" whose ranks must count up from 0.
func parse(r io.Reader) ([][]byte, error) {
	var tokens [][]byte
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		encoded, rank, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.Atoi(rank); err != nil || n != len(tokens) {
			return nil, fmt.Errorf("line %d: expected rank %d, got %q", len(tokens)+1, len(tokens), rank)
		}
		token, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(tokens)+1, err)
		}
		if len(token) == 0 || len(token) > 255 {
			return nil, fmt.Errorf("line %d: must be 1 to 255 bytes, got %d", len(tokens)+1, len(token))
		}
		tokens = append(tokens, token)
	}
	return tokens, lines.Err()
}

func pack(tokens [][]byte) ([]byte, error) {
	lengths := make([]byte, 0, len(tokens)+1)
	for _, token := range tokens {
		lengths = append(lengths, byte(len(token)))
	}
	lengths = append(lengths, 0)

	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	for _, part := range append([][]byte{lengths}, tokens...) {
		if _, err := w.Write(part); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
