package ui

import (
	"os"
	"testing"

	"redline/internal/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }
