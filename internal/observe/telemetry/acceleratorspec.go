package telemetry

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Names of the ways in which accelerators are watched.
const (
	AcceleratorAuto = "auto"
	AcceleratorOff  = "off"
	// AcceleratorNvidia and AcceleratorAMD are vendors' tools.
	AcceleratorNvidia = "nvidia-smi"
	AcceleratorAMD    = "amd-smi"
	// AcceleratorPage is the metrics page of an exporter.
	AcceleratorPage = "exporter"
)

// AcceleratorSource is where the figures of the server's accelerators come
// from.
type AcceleratorSource struct {
	// Kind is one of the names above.
	Kind string
	// Command is what runs the vendor's tool, up to and with its name: one
	// word where it is on this machine, more for ssh and its like.
	Command []string
	// Options are the words after the tool's name, which choose devices.
	Options []string
	// URL is the address of an exporter's page.
	URL string
}

// dcgmPrefix may stand before a page's address, to say what it is of.
const dcgmPrefix = "dcgm="

// ParseAccelerator reads the plan's word: auto, off, an exporter's URL, or a
// command in which one word is a vendor's tool.
func ParseAccelerator(text string) (AcceleratorSource, error) {
	switch text {
	case "", AcceleratorAuto:
		return AcceleratorSource{Kind: AcceleratorAuto}, nil
	case AcceleratorOff:
		return AcceleratorSource{Kind: AcceleratorOff}, nil
	}
	if address, marked := strings.CutPrefix(text, dcgmPrefix); marked || strings.Contains(strings.SplitN(text, " ", 2)[0], "://") {
		if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
			return AcceleratorSource{}, errors.New("expected a URL of an exporter that begins with http:// or https://")
		}
		return AcceleratorSource{Kind: AcceleratorPage, URL: address}, nil
	}
	words, err := splitWords(text)
	if err != nil {
		return AcceleratorSource{}, err
	}
	for i, word := range slices.Backward(words) {
		switch tool := toolName(word); tool {
		case AcceleratorNvidia, AcceleratorAMD:
			return AcceleratorSource{Kind: tool, Command: words[:i+1], Options: words[i+1:]}, nil
		}
	}
	return AcceleratorSource{}, fmt.Errorf("expected %s, %s, %s, %s, the URL of an exporter, or a command that runs one of the tools, such as 'ssh gpu1 nvidia-smi'",
		AcceleratorAuto, AcceleratorOff, AcceleratorNvidia, AcceleratorAMD)
}

// toolName takes folder and .exe from a program's path.
func toolName(word string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
}

// splitWords splits a command at its blanks; quotes of either kind keep a word
// together.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, open := rune(0), false
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}
