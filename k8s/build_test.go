package k8s

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"

	"inkstream.dev/services/cli"
)

// TestMain makes this program the command inkstream where it is called so, for secrets.sh and for the commands of the
// Jobs.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "inkstream" {
		os.Exit(cli.Main(context.Background(), os.Args[1:]))
	}
	var err error
	if scratch, err = os.MkdirTemp("", "inkstream-k8s-*"); err == nil {
		scratch, err = filepath.EvalSymlinks(scratch)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(scratch); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// scratch is a folder of all tests, which is gone after them.
var scratch string

// object is a Kubernetes object.
type object struct {
	APIVersion, Kind string
	Metadata         metadata
	Spec             json.RawMessage
	Data             json.RawMessage
}

type metadata struct {
	Name, Namespace string
	Labels          map[string]string
}

func (o *object) String() string { return o.Kind + " " + o.Metadata.Name }

// tree is a copy of this folder with the Secrets that secrets.sh makes.
type tree struct {
	dir       string
	inkstream string
}

// newTree returns a tree in scratch.
func newTree(t *testing.T) *tree {
	t.Helper()
	tr := &tree{dir: filepath.Join(scratch, "k8s"), inkstream: filepath.Join(scratch, "inkstream")}
	if err := os.CopyFS(tr.dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(tr.dir, "overlays", "*", "secrets"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secrets := range made { // an operator's own
		if err := os.RemoveAll(secrets); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, tr.inkstream); err != nil {
		t.Fatal(err)
	}
	for _, overlay := range []string{"single", "cluster"} {
		tr.makeSecrets(t, overlay)
	}
	return tr
}

// makeSecrets runs secrets.sh, twice: to run it again changes nothing.
func (tr *tree) makeSecrets(t *testing.T, overlay string) {
	t.Helper()
	var before map[string]string
	for range 2 {
		cmd := exec.CommandContext(t.Context(), filepath.Join(tr.dir, "secrets.sh"), overlay)
		cmd.Env = append(os.Environ(), "INKSTREAM="+tr.inkstream)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("secrets.sh %s: %v\n%s", overlay, err, out)
		}
		after := tr.secrets(t, overlay)
		if before != nil && fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("secrets.sh %s: the second run changed something", overlay)
		}
		before = after
	}
}

// secrets returns the texts of the files that secrets.sh made. Only their owner may read them.
func (tr *tree) secrets(t *testing.T, overlay string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	root := filepath.Join(tr.dir, "overlays", overlay, "secrets")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s, want it closed to others", path, info.Mode())
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// tool returns the path of a program that make builds.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", ".bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%v: 'make .bin/%s' builds it", err, name)
	}
	return path
}

// run runs a program and returns what it prints.
func run(t *testing.T, stdin []byte, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, stderr.String())
	}
	return out
}

// parse returns the objects of a file of several documents.
func parse(t *testing.T, text []byte) []*object {
	t.Helper()
	var objects []*object
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		o := &object{}
		decode(t, []byte(part), o)
		objects = append(objects, o)
	}
	return objects
}

// decode decodes YAML as JSON, whose names need no tags.
func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	data, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// overlays lists the overlays that kustomize can build here.
func overlays(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("overlays/*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range found {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	for _, want := range []string{"single", "cluster"} {
		if !slices.Contains(names, want) {
			t.Fatalf("no overlay %s", want)
		}
	}
	return names
}

// built holds the objects of every overlay, as kustomize builds them, in YAML and decoded.
type built struct {
	text    map[string][]byte
	objects map[string][]*object
	tree    *tree
}

var (
	buildOnce sync.Once
	everyOne  *built
)

// build builds every overlay once for all tests.
func build(t *testing.T) *built {
	t.Helper()
	buildOnce.Do(func() {
		b := &built{text: map[string][]byte{}, objects: map[string][]*object{}, tree: newTree(t)}
		for _, overlay := range overlays(t) {
			b.text[overlay] = run(t, nil, tool(t, "kustomize"), "build", filepath.Join(b.tree.dir, "overlays", overlay))
			b.objects[overlay] = parse(t, b.text[overlay])
		}
		everyOne = b
	})
	if everyOne == nil {
		t.Fatal(errors.New("the overlays were not built: see the first test that failed"))
	}
	return everyOne
}

// eachOverlay runs a test for each overlay.
func eachOverlay(t *testing.T, test func(t *testing.T, s *set)) {
	t.Helper()
	b := build(t)
	for overlay, objects := range b.objects {
		t.Run(overlay, func(t *testing.T) { test(t, newSet(t, objects)) })
	}
}

func TestObjectsFitTheirSchemas(t *testing.T) {
	b := build(t)
	conform := []string{"-strict", "-schema-location", "testdata/schemas/{{.ResourceKind}}{{.KindSuffix}}.json"}
	for overlay, text := range b.text {
		t.Run(overlay, func(t *testing.T) { run(t, text, tool(t, "kubeconform"), append(conform, "-")...) })
	}
	examples, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	run(t, nil, tool(t, "kubeconform"), append(conform, examples...)...)
}

// TestComponentsBuild builds each component on top of the cluster's overlay, or without it where that has it.
func TestComponentsBuild(t *testing.T) {
	b := build(t)
	components, err := filepath.Glob("components/*/kustomization.yaml")
	if err != nil || len(components) == 0 {
		t.Fatalf("no components: %v", err)
	}
	has, err := os.ReadFile("overlays/cluster/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range components {
		name := filepath.Base(filepath.Dir(path))
		if bytes.Contains(has, []byte("../../components/"+name)) {
			continue // it is built with the overlay
		}
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(b.tree.dir, "overlays", "with-"+name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("namespace: inkstream\nresources: [../cluster]\ncomponents: [../../components/%s]\n", name)
			if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			text2 := run(t, nil, tool(t, "kustomize"), "build", dir)
			run(t, text2, tool(t, "kubeconform"), "-strict", "-schema-location",
				"testdata/schemas/{{.ResourceKind}}{{.KindSuffix}}.json", "-")
			s := newSet(t, parse(t, text2))
			checkPods(t, s)
			checkSettings(t, s, b.tree)
			checkSelectors(t, s)
		})
	}
}
