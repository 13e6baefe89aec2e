// Command netpol enforces NetworkPolicies on one node with nftables, for a cluster whose pods are on a bridge: a test
// double of what a CNI does. Kubelet's probes come from the node itself and are let through, as the API wants it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	net "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type clusterState struct {
	pods       []*core.Pod
	namespaces map[string]labels.Set
	policies   []*net.NetworkPolicy
}

func matches(s *meta.LabelSelector, set labels.Set) bool {
	selector, err := meta.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(set)
}

// peers returns the pods that a peer of a policy in a namespace stands for.
func (c *clusterState) peers(namespace string, p net.NetworkPolicyPeer) []*core.Pod {
	var found []*core.Pod
	for _, pod := range c.pods {
		if p.NamespaceSelector == nil && pod.Namespace != namespace {
			continue
		}
		if p.NamespaceSelector != nil && !matches(p.NamespaceSelector, c.namespaces[pod.Namespace]) {
			continue
		}
		if p.PodSelector == nil || matches(p.PodSelector, pod.Labels) {
			found = append(found, pod)
		}
	}
	return found
}

// ports writes the match of one port: for a named one, the number that it has in pod; false if it has none there.
func ports(p net.NetworkPolicyPort, pod *core.Pod) (string, bool) {
	protocol := "tcp"
	if p.Protocol != nil {
		protocol = strings.ToLower(string(*p.Protocol))
	}
	switch {
	case p.Port == nil:
		return "meta l4proto " + protocol, true
	case p.Port.Type == intstr.Int && p.EndPort != nil:
		return fmt.Sprintf("%s dport %d-%d", protocol, p.Port.IntVal, *p.EndPort), true
	case p.Port.Type == intstr.Int:
		return fmt.Sprintf("%s dport %d", protocol, p.Port.IntVal), true
	}
	if pod != nil {
		for _, c := range pod.Spec.Containers {
			for _, has := range c.Ports {
				if has.Name == p.Port.StrVal && strings.EqualFold(string(has.Protocol), protocol) {
					return fmt.Sprintf("%s dport %d", protocol, has.ContainerPort), true
				}
			}
		}
	}
	return "", false
}

// allow returns the rules that let through what one rule of a policy allows; side is saddr for ingress and daddr for
// egress.
func (c *clusterState) allow(namespace, side string, from []net.NetworkPolicyPeer, to []net.NetworkPolicyPort,
	self *core.Pod) []string {
	var rules []string
	add := func(match string, remote *core.Pod) {
		if len(to) == 0 {
			rules = append(rules, strings.TrimSpace(match+" return"))
		}
		for _, p := range to {
			target := self
			if side == "daddr" {
				target = remote
			}
			if m, ok := ports(p, target); ok {
				rules = append(rules, strings.TrimSpace(match+" "+m+" return"))
			}
		}
	}
	if len(from) == 0 {
		add("", nil)
	}
	for _, p := range from {
		if p.IPBlock != nil {
			family := "ip"
			if strings.Contains(p.IPBlock.CIDR, ":") {
				family = "ip6"
			}
			match := fmt.Sprintf("%s %s %s", family, side, p.IPBlock.CIDR)
			if len(p.IPBlock.Except) > 0 {
				match += fmt.Sprintf(" %s %s != { %s }", family, side, strings.Join(p.IPBlock.Except, ", "))
			}
			add(match, nil)
			continue
		}
		for _, pod := range c.peers(namespace, p) {
			add(fmt.Sprintf("ip %s %s", side, pod.Status.PodIP), pod)
		}
	}
	return rules
}

func (c *clusterState) ruleset() string {
	var chains, in, out bytes.Buffer
	for _, pod := range c.pods {
		var ingress, egress []string
		isIn, isOut := false, false
		for _, p := range c.policies {
			if p.Namespace != pod.Namespace || !matches(&p.Spec.PodSelector, pod.Labels) {
				continue
			}
			if slices.Contains(p.Spec.PolicyTypes, net.PolicyTypeIngress) {
				isIn = true
				for _, r := range p.Spec.Ingress {
					ingress = append(ingress, c.allow(p.Namespace, "saddr", r.From, r.Ports, pod)...)
				}
			}
			if slices.Contains(p.Spec.PolicyTypes, net.PolicyTypeEgress) {
				isOut = true
				for _, r := range p.Spec.Egress {
					egress = append(egress, c.allow(p.Namespace, "daddr", r.To, r.Ports, pod)...)
				}
			}
		}
		id := strings.ReplaceAll(pod.Status.PodIP, ".", "_")
		chain := func(kind string, rules []string, jumps *bytes.Buffer) {
			fmt.Fprintf(&chains, "\tchain %s_%s { # %s/%s\n", kind, id, pod.Namespace, pod.Name)
			for _, r := range rules {
				fmt.Fprintf(&chains, "\t\t%s\n", r)
			}
			fmt.Fprintf(&chains, "\t\tcounter drop\n\t}\n")
			fmt.Fprintf(jumps, "%s : jump %s_%s, ", pod.Status.PodIP, kind, id)
		}
		if isIn {
			chain("in", ingress, &in)
		}
		if isOut {
			chain("out", egress, &out)
		}
	}
	var b bytes.Buffer
	b.WriteString("table inet testcluster\ndelete table inet testcluster\ntable inet testcluster {\n")
	b.Write(chains.Bytes())
	for _, hook := range []string{"forward", "input"} {
		fmt.Fprintf(&b,
			"\tchain %s {\n\t\ttype filter hook %s priority -10; policy accept;\n\t\tct state established,related accept\n",
			hook, hook)
		if out.Len() > 0 {
			fmt.Fprintf(&b, "\t\tip saddr vmap { %s }\n", strings.TrimSuffix(out.String(), ", "))
		}
		if in.Len() > 0 && hook == "forward" {
			fmt.Fprintf(&b, "\t\tip daddr vmap { %s }\n", strings.TrimSuffix(in.String(), ", "))
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file that tells where the cluster is")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	changed := make(chan struct{}, 1)
	poke := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { poke() }, UpdateFunc: func(_, _ any) { poke() },
		DeleteFunc: func(any) { poke() }}
	pods, namespaces, policies := factory.Core().V1().Pods(), factory.Core().V1().Namespaces(),
		factory.Networking().V1().NetworkPolicies()
	for _, i := range []cache.SharedIndexInformer{pods.Informer(), namespaces.Informer(), policies.Informer()} {
		if _, err := i.AddEventHandler(handler); err != nil {
			log.Fatal(err)
		}
	}
	factory.Start(nil)
	factory.WaitForCacheSync(nil)
	last := ""
	for range changed {
		time.Sleep(50 * time.Millisecond)
		c := clusterState{namespaces: map[string]labels.Set{}}
		all, _ := pods.Lister().List(labels.Everything())
		for _, p := range all {
			if p.Status.PodIP != "" && !p.Spec.HostNetwork && p.Status.Phase != core.PodSucceeded &&
				p.Status.Phase != core.PodFailed {
				c.pods = append(c.pods, p)
			}
		}
		sort.Slice(c.pods, func(i, j int) bool { return c.pods[i].Status.PodIP < c.pods[j].Status.PodIP })
		spaces, _ := namespaces.Lister().List(labels.Everything())
		for _, n := range spaces {
			c.namespaces[n.Name] = n.Labels
		}
		c.policies, _ = policies.Lister().List(labels.Everything())
		sort.Slice(c.policies, func(i, j int) bool { return c.policies[i].UID < c.policies[j].UID })
		rules := c.ruleset()
		if rules == last {
			continue
		}
		nft := exec.Command("nft", "-f", "-")
		nft.Stdin = strings.NewReader(rules)
		if out, err := nft.CombinedOutput(); err != nil {
			log.Fatalf("nft: %v\n%s\n%s", err, out, rules)
		}
		last = rules
		log.Printf("%d pods, %d policies", len(c.pods), len(c.policies))
	}
}
