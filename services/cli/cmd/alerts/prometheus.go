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

// prometheus asks a Prometheus that reads the drill's services.
type prometheus struct {
	url   string
	small string // the service whose uploads are on a disk of 8 MiB, as Prometheus names it
}

// openPrometheus starts a Prometheus with the rules, and returns when it reads every service's page.
func (tb *testbed) openPrometheus(ctx context.Context, targets map[string]string) error {
	rules := filepath.Join(tb.root, "deploy", "observability", "rules.yaml")
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
		tb.alerts = append(tb.alerts, m[1])
	}
	addr, err := chaos.FindFreeAddr()
	if err != nil {
		return err
	}
	tb.prometheus = prometheus{url: "http://" + addr, small: targets["gateway"]}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs:\n- job_name: inkstream\n  static_configs:\n  - targets:\n", tb.path("rules.yaml"))
	for _, target := range targets {
		config += fmt.Sprintf("    - %q\n", target)
	}
	err = errors.Join(os.WriteFile(tb.path("rules.yaml"), []byte(fast), 0o600),
		os.WriteFile(tb.path("prometheus.yaml"), []byte(config), 0o600))
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"check", "rules", rules}, {"check", "config", tb.path("prometheus.yaml")}} {
		if out, err := exec.CommandContext(ctx, "promtool", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("promtool %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	if _, err := tb.launch("prometheus", "prometheus", []string{
		"--config.file", tb.path("prometheus.yaml"), "--storage.tsdb.path", tb.path("tsdb"), "--web.listen-address", addr,
	}); err != nil {
		return err
	}
	return poll(ctx, time.Minute, func() (bool, error) {
		up, err := tb.prometheus.query(ctx, "count(up == 1)")
		return err == nil && len(up) == 1 && up[0].Value[1] == fmt.Sprint(len(targets)), err
	})
}

// ask reads an answer of Prometheus's API.
func (p prometheus) ask(ctx context.Context, path string, data any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
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

// firing returns the alerts that fire, but for those of disks that are not the drill's: the machine's own may be nearly
// full.
func (p prometheus) firing(ctx context.Context) (map[string]bool, error) {
	var data struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	err := p.ask(ctx, "/api/v1/alerts", &data)
	firing := map[string]bool{}
	for _, a := range data.Alerts {
		disk := a.Labels["disk"]
		own := disk == "" || disk == "uploads" && a.Labels["instance"] == p.small
		if a.State == "firing" && own {
			firing[a.Labels["alertname"]] = true
		}
	}
	return firing, err
}

type series struct{ Value [2]any }

func (p prometheus) query(ctx context.Context, expr string) ([]series, error) {
	var data struct{ Result []series }
	err := p.ask(ctx, "/api/v1/query?query="+url.QueryEscape(expr), &data)
	return data.Result, err
}

// checkDashboards asks every query of the dashboards. After all that has gone wrong, each has an answer.
func (tb *testbed) checkDashboards(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(tb.root, "deploy", "observability", "dashboards", "*.json"))
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
				got, err := tb.prometheus.query(ctx, strings.ReplaceAll(t.Expr, "$__rate_interval", "10m"))
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
