package action

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"redline/internal/must"
)

// The examples for Kubernetes name the image by a variable, do not run as root, and
// are what its schemas allow where kubernetes-validate (PyPI) is installed.
func TestKubernetesExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/kubernetes/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		content := must.Read(t, file)
		said := os.Expand(string(content), func(name string) string {
			if !strings.HasPrefix(name, "REDLINE_") {
				t.Errorf("%s asks for ${%s}", file, name)
			}
			return map[string]string{"REDLINE_IMAGE": "registry.example.org/redline:v1", "REDLINE_TARGET": "http://vllm:8000"}[name]
		})
		var document any
		if err := yaml.Unmarshal([]byte(said), &document); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if !strings.Contains(string(content), "image: ${REDLINE_IMAGE}") || !strings.Contains(said, "runAsNonRoot: true") {
			t.Errorf("%s names its image, or may run as root", file)
		}
		if _, err := exec.LookPath("kubernetes-validate"); err != nil {
			continue
		}
		path := must.File(t, filepath.Base(file), said)
		if out, err := exec.Command("kubernetes-validate", "--strict", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}
