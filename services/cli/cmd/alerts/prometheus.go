package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"inkstream.dev/services/standalone/chaos"
)

// minutes are what is made seconds of in the rules: durations such as 5m, and numbers of seconds such as 10 * 60.
var minutes = regexp.MustCompile(`\b(\d+)m\b|(\* )60\b`)

// openPrometheus starts a Prometheus with the rules, and returns when it reads every service's page.
func (w *world) openPrometheus(ctx context.Context, targets map[string]string) error {
	rules := filepath.Join(w.root, "deploy", "observability", "rules.yaml")
	text, err := os.ReadFile(rules)
	if err != nil {
		return err
	}
	fast := minutes.ReplaceAllStringFunc(string(text), func(s string) string {
		if s == "* 60" {
			return "* 1"
		}
		return strings.TrimSuffix(s, "m") + "s"
	})
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(text), -1) {
		w.alerts = append(w.alerts, m[1])
	}
	addr, err := chaos.FindFreeAddr()
	if err != nil {
		return err
	}
	w.prometheus = "http://" + addr
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs:\n- job_name: inkstream\n  static_configs:\n  - targets:\n", w.path("rules.yaml"))
	for _, target := range targets {
		config += fmt.Sprintf("    - %q\n", target)
	}
	err = errors.Join(os.WriteFile(w.path("rules.yaml"), []byte(fast), 0o600),
		os.WriteFile(w.path("prometheus.yaml"), []byte(config), 0o600))
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"check", "rules", rules}, {"check", "config", w.path("prometheus.yaml")}} {
		if out, err := exec.CommandContext(ctx, "promtool", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("promtool %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	if _, err := w.launch("prometheus", "prometheus", []string{
		"--config.file", w.path("prometheus.yaml"), "--storage.tsdb.path", w.path("tsdb"), "--web.listen-address", addr,
	}); err != nil {
		return err
	}
	return poll(ctx, time.Minute, func() (bool, error) {
		up, err := w.query(ctx, "count(up == 1)")
		return err == nil && len(up) == 1 && up[0].Value[1] == fmt.Sprint(len(targets)), err
	})
}

// ask reads an answer of Prometheus's API.
func (w *world) ask(ctx context.Context, path string, data any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.prometheus+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return nil
}

// firing returns the alerts that fire.
func (w *world) firing(ctx context.Context) (map[string]bool, error) {
	var data struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	err := w.ask(ctx, "/api/v1/alerts", &data)
	firing := map[string]bool{}
	for _, a := range data.Alerts {
		if a.State == "firing" {
			firing[a.Labels["alertname"]] = true
		}
	}
	return firing, err
}

type series struct{ Value [2]any }

func (w *world) query(ctx context.Context, expr string) ([]series, error) {
	var data struct{ Result []series }
	err := w.ask(ctx, "/api/v1/query?query="+url.QueryEscape(expr), &data)
	return data.Result, err
}

// checkDashboards asks every query of the dashboards. After all that has gone wrong, each has an answer.
func (w *world) checkDashboards(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(w.root, "deploy", "observability", "dashboards", "*.json"))
	if err != nil {
		return err
	}
	var errs []error
	asked := 0
	for _, file := range files {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &dashboard)
		}
		errs = append(errs, err)
		for _, p := range dashboard.Panels {
			for _, t := range p.Targets {
				if t.Expr == "" {
					continue // of traces
				}
				asked++
				got, err := w.query(ctx, strings.ReplaceAll(t.Expr, "$__rate_interval", "10m"))
				if err == nil && len(got) == 0 {
					err = errors.New("no data")
				}
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %s: %s: %w", filepath.Base(file), p.Title, t.Expr, err))
				}
			}
		}
	}
	err = errors.Join(errs...)
	if asked == 0 {
		err = errors.New("the dashboards ask nothing")
	}
	if err == nil {
		fmt.Printf("dashboards: %d queries, each answered with data\n", asked)
	}
	return err
}
