package bustest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"inkstream.dev/pkg/bus"
)

// ClusterSize is the number of a Cluster's servers, and of the replicas of its streams.
const ClusterSize = 3

// Cluster is three servers in this process that keep each stream three times and sync every write, as a deployment
// has them. Each can be stopped and started again on the same files, and be made slow. Nodes count from 0.
type Cluster struct {
	t     testing.TB
	nodes [ClusterSize]*clusterNode
	links [ClusterSize][ClusterSize]*delayedLink // those of i and j, and of j and i, are the same
}

type clusterNode struct {
	opts server.Options
	srv  *server.Server
}

// clusterPatience bounds how long the cluster may take to be whole. An election takes up to 9 s.
const clusterPatience = time.Minute

// NewCluster starts a cluster, which stops with the test, and returns when it is whole.
func NewCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	var routes [ClusterSize]string
	for i := range routes {
		routes[i] = freeAddress(t)
		for j := range i {
			l := &delayedLink{}
			c.links[i][j], c.links[j][i] = l, l
		}
	}
	for i := range c.nodes {
		c.nodes[i] = &clusterNode{opts: c.nodeOptions(i, routes)}
		t.Cleanup(func() { c.StopNode(i) })
	}
	for i := range c.nodes {
		c.launchNode(i)
	}
	c.AwaitHealthy()
	return c
}

// nodeOptions returns the options of a node. It reaches the others through the links only: what it tells of its own
// address leads nowhere.
func (c *Cluster) nodeOptions(i int, routes [ClusterSize]string) server.Options {
	c.t.Helper()
	var others []*url.URL
	for j, addr := range routes {
		if j != i {
			others = append(others, &url.URL{Scheme: "nats", Host: c.links[i][j].listenFor(c.t, addr)})
		}
	}
	host, client := splitHostPort(c.t, freeAddress(c.t))
	routeHost, port := splitHostPort(c.t, routes[i])
	return server.Options{
		ServerName: fmt.Sprintf("n%d", i), Host: host, Port: client, NoSigs: true,
		JetStream: true, StoreDir: ServerFolder(c.t), SyncAlways: true, JetStreamMaxStore: -1,
		Routes: others,
		Cluster: server.ClusterOpts{
			Name: "test", Host: routeHost, Port: port, Advertise: "127.0.0.1:1", NoAdvertise: true,
		},
	}
}

func splitHostPort(t testing.TB, addr string) (string, int) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return host, n
}

// ClientURLs returns the addresses of all nodes for clients, comma-separated. They outlive the nodes.
func (c *Cluster) ClientURLs() string {
	var all []string
	for i := range c.nodes {
		all = append(all, c.NodeURL(i))
	}
	return strings.Join(all, ",")
}

// NodeURL returns the address of one node.
func (c *Cluster) NodeURL(i int) string {
	return fmt.Sprintf("nats://%s:%d", c.nodes[i].opts.Host, c.nodes[i].opts.Port)
}

func (c *Cluster) launchNode(i int) {
	c.t.Helper()
	opts := c.nodes[i].opts // a copy, because the server keeps and changes what it is given
	srv, err := server.NewServer(&opts)
	if err != nil {
		c.t.Fatalf("node %d: %v", i, err)
	}
	c.nodes[i].srv = srv
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		c.t.Fatalf("node %d does not accept connections", i)
	}
}

// StartNode starts a node, and returns when the cluster is whole again.
func (c *Cluster) StartNode(i int) {
	c.t.Helper()
	if c.nodes[i].srv == nil {
		c.launchNode(i)
	}
	c.AwaitHealthy()
}

// StopNode stops a node; its files stay. A node that is stopped is left alone.
func (c *Cluster) StopNode(i int) {
	if srv := c.nodes[i].srv; srv != nil {
		c.nodes[i].srv = nil
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

// RollingRestart restarts one node after the other, each when the one before it is back and has caught up.
func (c *Cluster) RollingRestart() {
	c.t.Helper()
	for i := range c.nodes {
		c.StopNode(i)
		c.StartNode(i)
	}
}

// AwaitHealthy waits until every node that runs is healthy: it knows the leaders of all that it has a part in, and
// has caught up with them. One of them leads the cluster, and knows that all of them are there; else it may refuse a
// stream for want of nodes to keep it on.
func (c *Cluster) AwaitHealthy() {
	c.t.Helper()
	EventuallyWithin(c.t, clusterPatience, "the cluster is whole", func() bool {
		runs, known := 0, 0
		for _, n := range c.nodes {
			if n.srv == nil {
				continue
			}
			if health := n.srv.Healthz(nil); health.StatusCode != http.StatusOK {
				return false
			}
			runs++
			known = max(known, len(n.srv.JetStreamClusterPeers())) // none but the leader's are told
		}
		return known >= runs
	})
}

// StreamLeader returns the node that leads a stream.
func (c *Cluster) StreamLeader(stream string) int {
	c.t.Helper()
	leader := -1
	EventuallyWithin(c.t, clusterPatience, "a leader of "+stream, func() bool {
		for i, n := range c.nodes {
			if n.srv != nil && n.srv.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
				leader = i
			}
		}
		return leader >= 0
	})
	return leader
}

// SetNodeDelay makes a node's network that much slower in either direction.
func (c *Cluster) SetNodeDelay(i int, delay time.Duration) {
	for j := range c.nodes {
		if j != i {
			c.links[i][j].setDelay(delay)
		}
	}
}

// Connect returns a connection to the cluster with every stream in place.
func (c *Cluster) Connect(topology bus.Topology) *bus.Bus {
	c.t.Helper()
	b := ConnectURL(c.t, c.ClientURLs())
	topology.Replicas = ClusterSize
	ctx, cancel := context.WithTimeout(c.t.Context(), clusterPatience) // some dozens of writes, each on three disks
	defer cancel()
	if err := b.ProvisionWhenUp(ctx, topology); err != nil {
		c.t.Fatalf("provision: %v", err)
	}
	c.AwaitHealthy()
	return b
}
