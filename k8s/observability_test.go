package k8s

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"inkstream.dev/pkg/telemetry"
)

const observability = "../deploy/observability"

// foreign metrics are not ours: Prometheus and the kubelet have them.
var foreignMetrics = map[string]bool{
	"up": true, "kubelet_volume_stats_available_bytes": true, "kubelet_volume_stats_capacity_bytes": true,
}

// exported returns the metrics that a process can show, with their labels. It calls everything that records one, and
// reads what the registry has then.
func exported(t *testing.T) map[string]map[string]bool {
	t.Helper()
	tel, err := telemetry.SetUpTelemetry(t.Context(), telemetry.DefaultConfig("test", ""), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.WithoutCancel(t.Context())) })
	broker := telemetry.Broker{
		Queues: make([]telemetry.Queue, 1), Stages: make([]telemetry.Stage, 1), Streams: make([]telemetry.Stream, 1),
	}
	values := map[reflect.Type]any{}
	for _, v := range []any{
		".", 1, int64(1), true, time.Second, time.Now, func() map[string]int { return map[string]int{"t": 1} },
		func(context.Context) (telemetry.Broker, error) { return broker, nil },
	} {
		values[reflect.TypeOf(v)] = v
	}
	metrics := reflect.ValueOf(tel.Metrics)
	for i := range metrics.NumMethod() {
		method := metrics.Method(i)
		var args []reflect.Value
		for n := range method.Type().NumIn() {
			if in := method.Type().In(n); in == reflect.TypeFor[context.Context]() {
				args = append(args, reflect.ValueOf(t.Context()))
			} else if v, ok := values[in]; ok {
				args = append(args, reflect.ValueOf(v))
			} else {
				t.Fatalf("%s takes a %s, which this test has none of", metrics.Type().Method(i).Name, in)
			}
		}
		method.Call(args)
	}
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]map[string]bool{}
	for _, f := range families {
		labels := map[string]bool{"job": true, "instance": true}
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[l.GetName()] = true
		}
		if f.GetMetric()[0].GetHistogram() == nil {
			names[f.GetName()] = labels
			continue
		}
		names[f.GetName()+"_sum"], names[f.GetName()+"_count"] = labels, labels
		names[f.GetName()+"_bucket"] = map[string]bool{"le": true}
		for l := range labels {
			names[f.GetName()+"_bucket"][l] = true
		}
	}
	return names
}

// checkQuery parses a query, and looks whether its metrics exist and have the labels that it names.
func checkQuery(t *testing.T, metrics map[string]map[string]bool, where, query string) {
	t.Helper()
	expr, err := parser.ParseExpr(strings.ReplaceAll(query, "$__rate_interval", "1m"))
	if err != nil {
		t.Errorf("%s: %q: %v", where, query, err)
		return
	}
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok || foreignMetrics[selector.Name] {
			return nil
		}
		labels, ok := metrics[selector.Name]
		if !ok {
			t.Errorf("%s: no program has the metric %s", where, selector.Name)
			return nil
		}
		for _, m := range selector.LabelMatchers {
			if m.Name != "__name__" && !labels[m.Name] {
				t.Errorf("%s: %s has no label %s", where, selector.Name, m.Name)
			}
		}
		for _, outer := range path {
			sum, ok := outer.(*parser.AggregateExpr)
			for i := 0; ok && i < len(sum.Grouping); i++ {
				if !labels[sum.Grouping[i]] {
					t.Errorf("%s: %s has no label %s", where, selector.Name, sum.Grouping[i])
				}
			}
		}
		return nil
	})
}

type alertRule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func readRules(t *testing.T) []alertRule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(observability, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []alertRule } }
	decode(t, text, &file)
	var all []alertRule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no rules")
	}
	return all
}

func TestAlerts(t *testing.T) {
	metrics := exported(t)
	runbook, err := os.ReadFile("../deploy/RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(string(runbook), -1) {
		sections[m[1]] = true
	}
	for _, r := range readRules(t) {
		checkQuery(t, metrics, r.Alert, r.Expr)
		if want := "deploy/RUNBOOK.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
		}
		if !sections[r.Alert] {
			t.Errorf("%s: the runbook has no section of it", r.Alert)
		}
		delete(sections, r.Alert)
		severity := r.Labels["severity"]
		if r.Annotations["summary"] == "" || r.For == "" || severity != "critical" && severity != "warning" {
			t.Errorf("%s: want a summary, a time to wait and a severity, got %+v", r.Alert, r)
		}
	}
	for name := range sections {
		t.Errorf("the runbook has a section of the alert %s, which is not there", name)
	}
}

func TestDashboards(t *testing.T) {
	metrics := exported(t)
	files, err := filepath.Glob(filepath.Join(observability, "dashboards", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	sources, err := os.ReadFile(filepath.Join(observability, "grafana", "datasources.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct {
			UID, Title string
			Panels     []struct {
				Title      string
				Datasource struct{ Type, UID string }
				Targets    []struct{ Expr, Tags string }
			}
		}
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if dashboard.UID+".json" != filepath.Base(file) || dashboard.Title == "" || len(dashboard.Panels) == 0 {
			t.Errorf("%s: uid %q, title %q, %d panels", file, dashboard.UID, dashboard.Title, len(dashboard.Panels))
		}
		for _, p := range dashboard.Panels {
			if !strings.Contains(string(sources), "uid: "+p.Datasource.UID+", type: "+p.Datasource.Type) || len(p.Targets) == 0 {
				t.Errorf("%s: %s: data source %+v, %d targets", file, p.Title, p.Datasource, len(p.Targets))
			}
			for _, target := range p.Targets {
				if p.Datasource.Type == "prometheus" {
					checkQuery(t, metrics, p.Title, target.Expr)
				} else if target.Tags != "job=$job" {
					t.Errorf("%s: a trace is found by %q, want job=$job", p.Title, target.Tags)
				}
			}
		}
	}
}

// TestComposeMountsWhatIsThere looks for what compose.yaml mounts of deploy/observability.
func TestComposeMountsWhatIsThere(t *testing.T) {
	text, err := os.ReadFile("../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	mounts := regexp.MustCompile(`\./(observability/[^:"]+):`).FindAllStringSubmatch(string(text), -1)
	if len(mounts) == 0 {
		t.Fatal("compose.yaml mounts nothing of deploy/observability")
	}
	for _, m := range mounts {
		if _, err := os.Stat(filepath.Join("..", "deploy", m[1])); err != nil {
			t.Error(err)
		}
	}
}
