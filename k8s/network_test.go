package k8s

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// selector is a label selector.
type selector struct {
	MatchLabels      map[string]string
	MatchExpressions []struct {
		Key, Operator string
		Values        []string
	}
}

func (l *selector) matches(labels map[string]string) bool {
	for key, value := range l.MatchLabels {
		if labels[key] != value {
			return false
		}
	}
	for _, e := range l.MatchExpressions {
		if e.Operator != "In" || !slices.Contains(e.Values, labels[e.Key]) {
			return false
		}
	}
	return true
}

// selected returns the workloads whose pods a selector matches. Each value that it names must be one's.
func (s *set) selected(t *testing.T, who string, l *selector) []*workload {
	t.Helper()
	var found []*workload
	for _, w := range s.workloads {
		if l.matches(w.spec.Template.Metadata.Labels) {
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		t.Errorf("%s: its selector matches no pod", who)
	}
	for _, e := range l.MatchExpressions {
		if e.Operator != "In" {
			t.Errorf("%s: operator %s is not looked at here", who, e.Operator)
		}
		for _, value := range e.Values {
			if !slices.ContainsFunc(found, func(w *workload) bool { return w.spec.Template.Metadata.Labels[e.Key] == value }) {
				t.Errorf("%s: no pod has %s: %s", who, e.Key, value)
			}
		}
	}
	return found
}

// hasPort reports whether one of the pod's containers has a port of that name or number.
func (w *workload) hasPort(port string) bool {
	for _, c := range w.pod().Containers {
		for _, p := range c.Ports {
			if p.Name == port || strconv.Itoa(p.ContainerPort) == port {
				return true
			}
		}
	}
	return false
}

type serviceSpec struct {
	Selector map[string]string
	Ports    []struct {
		Name       string
		Port       int
		TargetPort any
	}
}

// serves reports whether there is a Service of that name with that port.
func (s *set) serves(t *testing.T, name, port string) bool {
	t.Helper()
	for _, o := range s.objects {
		if o.Kind != "Service" || o.Metadata.Name != name {
			continue
		}
		var spec serviceSpec
		o.spec(t, &spec)
		for _, p := range spec.Ports {
			if strconv.Itoa(p.Port) == port {
				return true
			}
		}
	}
	return false
}

func TestSelectorsAndPortsMatch(t *testing.T) { eachOverlay(t, checkSelectors) }

func checkSelectors(t *testing.T, s *set) {
	t.Helper()
	for _, w := range s.workloads {
		labels := w.spec.Template.Metadata.Labels
		if w.Kind != "Job" && (len(w.spec.Selector.MatchLabels) == 0 || !w.spec.Selector.matches(labels)) {
			t.Errorf("%s: its selector does not match its pods", w)
		}
		for _, c := range w.pod().TopologySpreadConstraints {
			if !c.LabelSelector.matches(labels) {
				t.Errorf("%s: spreads other pods than its own", w)
			}
		}
		for _, term := range w.pod().Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if !term.LabelSelector.matches(labels) {
				t.Errorf("%s: keeps away from other pods than its own", w)
			}
		}
		if name := w.pod().ServiceAccountName; name != "" && !s.has("ServiceAccount", name) {
			t.Errorf("%s: no service account %s", w, name)
		}
		for _, v := range w.pod().Volumes {
			if v.PersistentVolumeClaim != nil && !s.has("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName) {
				t.Errorf("%s: no PersistentVolumeClaim %s", w, v.PersistentVolumeClaim.ClaimName)
			}
		}
	}
	guarded := map[string]bool{}
	for _, o := range s.objects {
		if o.Metadata.Namespace != "inkstream" && o.Kind != "Namespace" && o.Kind != "PersistentVolume" {
			t.Errorf("%s is in namespace %q", o, o.Metadata.Namespace)
		}
		switch o.Kind {
		case "Service":
			var spec serviceSpec
			o.spec(t, &spec)
			for _, w := range s.selected(t, o.String(), &selector{MatchLabels: spec.Selector}) {
				for _, p := range spec.Ports {
					if !w.hasPort(fmt.Sprint(p.TargetPort)) {
						t.Errorf("%s: %s has no port %v", o, w, p.TargetPort)
					}
				}
			}
		case "PodDisruptionBudget":
			var spec struct {
				Selector       selector
				MaxUnavailable any
			}
			o.spec(t, &spec)
			if fmt.Sprint(spec.MaxUnavailable) != "1" {
				t.Errorf("%s: maxUnavailable is %v, want 1", o, spec.MaxUnavailable)
			}
			for _, w := range s.selected(t, o.String(), &spec.Selector) {
				guarded[w.app()] = true
			}
		}
	}
	for _, name := range append(slices.Clone(services), "nats") {
		if !guarded[name] {
			t.Errorf("%s has no PodDisruptionBudget", name)
		}
	}
}

func (s *set) has(kind, name string) bool {
	return slices.ContainsFunc(s.objects, func(o *object) bool { return o.Kind == kind && o.Metadata.Name == name })
}

func TestNamespaceEnforcesRestricted(t *testing.T) {
	eachOverlay(t, func(t *testing.T, s *set) {
		for _, o := range s.objects {
			if o.Kind == "Namespace" && o.Metadata.Labels["pod-security.kubernetes.io/enforce"] == "restricted" {
				return
			}
		}
		t.Error("no namespace enforces the Pod Security Standard restricted")
	})
}

// policy is a NetworkPolicy.
type policy struct {
	name string
	spec struct {
		PodSelector     selector
		PolicyTypes     []string
		Ingress, Egress []rule
	}
}

type rule struct {
	From, To []peer
	Ports    []struct{ Port any }
}

type peer struct {
	PodSelector, NamespaceSelector *selector
	IPBlock                        json.RawMessage
}

// policies returns the NetworkPolicies, with selectors that match something and ports that are there.
func (s *set) policies(t *testing.T) []*policy {
	t.Helper()
	var list []*policy
	for _, o := range s.objects {
		if o.Kind != "NetworkPolicy" {
			continue
		}
		p := &policy{name: o.Metadata.Name}
		o.spec(t, &p.spec)
		own := s.selected(t, o.String(), &p.spec.PodSelector)
		for _, r := range p.spec.Ingress {
			s.checkRule(t, o, &r, r.From, own)
		}
		for _, r := range p.spec.Egress {
			s.checkRule(t, o, &r, r.To, nil)
		}
		list = append(list, p)
	}
	return list
}

// checkRule looks at a rule's peers, and at its ports on those who are talked to: own, or else the peers.
func (s *set) checkRule(t *testing.T, o *object, r *rule, peers []peer, own []*workload) {
	t.Helper()
	answers := own
	for _, p := range peers {
		if p.PodSelector == nil || p.NamespaceSelector != nil {
			continue
		}
		found := s.selected(t, o.String(), p.PodSelector)
		if own == nil {
			answers = append(answers, found...)
		}
	}
	if len(r.Ports) == 0 {
		t.Errorf("%s: a rule for every port", o)
	}
	for _, p := range r.Ports {
		for _, w := range answers {
			if !w.hasPort(fmt.Sprint(p.Port)) {
				t.Errorf("%s: %s has no port %v", o, w, p.Port)
			}
		}
	}
}

// allows reports whether some policies let a pod at one end talk to a pod at the other at a port; in one direction of
// the two.
func allows(policies []*policy, direction string, self, other *workload, port string) bool {
	isolated := false
	for _, p := range policies {
		if !slices.Contains(p.spec.PolicyTypes, direction) ||
			!p.spec.PodSelector.matches(self.spec.Template.Metadata.Labels) {
			continue
		}
		isolated = true
		rules := p.spec.Ingress
		if direction == "Egress" {
			rules = p.spec.Egress
		}
		for _, r := range rules {
			peers := r.From
			if direction == "Egress" {
				peers = r.To
			}
			if r.covers(port) && (len(peers) == 0 || slices.ContainsFunc(peers, func(p peer) bool {
				return p.PodSelector != nil && p.NamespaceSelector == nil &&
					p.PodSelector.matches(other.spec.Template.Metadata.Labels)
			})) {
				return true
			}
		}
	}
	return !isolated
}

func (r *rule) covers(port string) bool {
	for _, p := range r.Ports {
		if fmt.Sprint(p.Port) == port {
			return true
		}
	}
	return false
}

// flow is what the pipeline needs within its namespace, from → to port; it needs nothing else.
func flow(overlay string) []string {
	want := []string{"nats → nats cluster", "provision → nats client"}
	for _, name := range services {
		want = append(want, name+" → nats client")
		if name != "index" {
			want = append(want, name+" → index ops")
		}
		if overlay == "cluster" {
			want = append(want, name+" → s3 s3")
		}
	}
	if overlay == "cluster" {
		for _, name := range []string{"gateway", "index", "migrate"} {
			want = append(want, name+" → clickhouse native")
		}
	}
	slices.Sort(want)
	return want
}

// TestNetworkPoliciesAllowTheFlowAlone asks for every pod, every other and every port whether the policies let the
// one reach the other.
func TestNetworkPoliciesAllowTheFlowAlone(t *testing.T) {
	b := build(t)
	for _, overlay := range []string{"single", "cluster"} {
		t.Run(overlay, func(t *testing.T) {
			s := newSet(t, b.objects[overlay])
			policies := s.policies(t)
			var got []string
			for _, from := range s.workloads {
				for _, to := range s.workloads {
					for _, c := range to.pod().Containers {
						for _, p := range c.Ports {
							if allows(policies, "Egress", from, to, p.Name) && allows(policies, "Ingress", to, from, p.Name) {
								got = append(got, from.app()+" → "+to.app()+" "+p.Name)
							}
						}
					}
				}
			}
			slices.Sort(got)
			if want := flow(overlay); !slices.Equal(got, want) {
				t.Errorf("allowed:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestPoliciesOpenNothingElse: out of the namespace go names' lookups, and the gateway to public addresses; into it
// come clients, Prometheus and KEDA.
func TestPoliciesOpenNothingElse(t *testing.T) {
	eachOverlay(t, func(t *testing.T, s *set) {
		out, in := map[string]bool{}, map[string]bool{}
		for _, p := range s.policies(t) {
			for _, r := range p.spec.Egress {
				for _, to := range r.To {
					if to.PodSelector == nil || to.NamespaceSelector != nil {
						out[p.name] = true
					}
				}
				if len(r.To) == 0 {
					t.Errorf("%s: lets its pods talk to anything", p.name)
				}
			}
			for _, r := range p.spec.Ingress {
				open := len(r.From) == 0
				for _, from := range r.From {
					open = open || from.PodSelector == nil || from.NamespaceSelector != nil
				}
				if open {
					in[p.name] = true
				}
			}
		}
		if got := slices.Sorted(maps.Keys(out)); !slices.Equal(got, []string{"dns", "gateway"}) {
			t.Errorf("what goes out of the namespace: %q", got)
		}
		if got := slices.Sorted(maps.Keys(in)); !slices.Equal(got, []string{"gateway", "nats", "scrape"}) {
			t.Errorf("what comes into the namespace: %q", got)
		}
	})
}
