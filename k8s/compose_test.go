package k8s

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// composeService is what is looked at of a service of a Compose file.
type composeService struct {
	Image       string
	User        string
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	CapAdd      []string `yaml:"cap_add"`
	SecurityOpt []string `yaml:"security_opt"`
	Privileged  bool
	Command     []string
	Environment map[string]string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Volumes     []string
	Ports       []string
	Healthcheck *struct {
		Test    []string
		Disable bool
	}
}

type composeFile struct {
	Services map[string]composeService
	Volumes  map[string]any
}

// readCompose reads a file. A key beside a merge takes the place of the merged one.
func readCompose(t *testing.T, name string) composeFile {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	var f composeFile
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

// compose returns what Compose makes of the files, the later over the earlier.
func compose(t *testing.T, names ...string) composeFile {
	t.Helper()
	all := readCompose(t, names[0])
	for _, name := range names[1:] {
		over := readCompose(t, name)
		maps.Copy(all.Volumes, over.Volumes)
		for name, s := range over.Services {
			base, ok := all.Services[name]
			if !ok {
				all.Services[name] = s
				continue
			}
			if base.Environment == nil {
				base.Environment = map[string]string{}
			}
			maps.Copy(base.Environment, s.Environment)
			maps.Copy(base.DependsOn, s.DependsOn)
			base.Volumes = append(base.Volumes, s.Volumes...)
			all.Services[name] = base
		}
	}
	return all
}

func TestComposeFiles(t *testing.T) {
	for _, files := range [][]string{{"compose.yaml"}, {"compose.yaml", "compose.cluster.yaml"}} {
		f := compose(t, files...)
		for _, name := range services {
			if _, ok := f.Services[name]; !ok {
				t.Errorf("%v: no service %s", files, name)
			}
		}
		for name, s := range f.Services {
			what := files[len(files)-1] + ": " + name
			checkComposeWalls(t, what, name, s)
			checkComposeNeeds(t, what, s, f)
			if !slices.Contains(services, name) {
				continue
			}
			if name == "gateway" || name == "index" { // init.sh writes it
				s.Environment["INDEX"] = "clickhouse://inkstream:password@clickhouse:9000/inkstream"
			}
			checkVariables(t, name, nil, expandDefaults(s.Environment, nil))
		}
		checkComposeVision(t, f)
	}
}

// expandDefaults returns an environment with its references, such as ${OCR_ENGINE:-tesseract}, in place.
func expandDefaults(environment, given map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range environment {
		out[name] = os.Expand(value, func(reference string) string {
			variable, otherwise, _ := strings.Cut(reference, ":-")
			if v := given[variable]; v != "" {
				return v
			}
			return otherwise
		})
	}
	return out
}

// checkComposeVision: with the engine auto, ocr asks the profile's model under the name and at the port that it has.
func checkComposeVision(t *testing.T, f composeFile) {
	t.Helper()
	env := expandDefaults(f.Services["ocr"].Environment, map[string]string{"OCR_ENGINE": "auto"})
	checkVariables(t, "ocr", nil, env)
	at, err := url.Parse(env["VISION_ENDPOINTS"])
	if err != nil {
		t.Fatal(err)
	}
	model := f.Services[at.Hostname()]
	for _, flag := range []string{"--served-model-name=" + env["VISION_MODEL"], "--port=" + at.Port()} {
		if !slices.Contains(model.Command, flag) {
			t.Errorf("ocr asks %s, whose flags are %q; want %s", at, model.Command, flag)
		}
	}
}

// checkComposeWalls: no root but for what makes the keys, no capabilities, a read-only root, ports for this machine
// alone, an image of ours or a version of another's.
func checkComposeWalls(t *testing.T, what, name string, s composeService) {
	t.Helper()
	if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.Privileged ||
		!slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		t.Errorf("%s: want a read-only root, no capabilities and no new privileges", what)
	}
	if name != "init" && (len(s.CapAdd) > 0 || strings.HasPrefix(s.User, "0")) {
		t.Errorf("%s: user %q, capabilities %v", what, s.User, s.CapAdd)
	}
	for _, port := range s.Ports {
		if !strings.HasPrefix(port, "127.0.0.1:") {
			t.Errorf("%s: port %s is open to the network", what, port)
		}
	}
	image, tag, _ := strings.Cut(s.Image, ":")
	ours := strings.HasPrefix(image, "inkstream/")
	if ours && tag != "${INKSTREAM_VERSION:-dev}" || !ours && !strings.ContainsAny(tag, "0123456789") {
		t.Errorf("%s: image %q is neither ours nor pinned", what, s.Image)
	}
}

// checkComposeNeeds: what it waits for is there, and can become what it is waited for; what it mounts is there.
func checkComposeNeeds(t *testing.T, what string, s composeService, f composeFile) {
	t.Helper()
	for name, need := range s.DependsOn {
		other, ok := f.Services[name]
		healthy := need.Condition == "service_healthy"
		if !ok || healthy && (other.Healthcheck == nil || other.Healthcheck.Disable) {
			t.Errorf("%s: waits for %s to be %s, which it cannot become", what, name, need.Condition)
		}
	}
	for _, volume := range s.Volumes {
		from, _, _ := strings.Cut(volume, ":")
		if !strings.HasPrefix(from, "./") {
			if _, ok := f.Volumes[from]; !ok {
				t.Errorf("%s: the volume %s is not there", what, from)
			}
		} else if _, err := os.Stat(filepath.Join("..", "deploy", from)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
