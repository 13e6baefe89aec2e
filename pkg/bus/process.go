package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// ProcessInterval is how often a process says that it runs a stage. Nothing is stored: who wants to know listens.
const ProcessInterval = 10 * time.Second

// Process is a process that runs a stage, as it says of itself.
type Process struct {
	Stage   Stage     `json:"stage"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Start   time.Time `json:"start"`
	// InFlight is how many tasks it has in hand.
	InFlight int `json:"inFlight"`
	// Walls tells of each engine that runs in the process which walls are around its children.
	Walls map[string]string `json:"walls,omitempty"`
	// Stopping says that it takes no more tasks.
	Stopping bool `json:"stopping,omitempty"`
}

// processStart is when this process began, as far as anything tells.
var processStart = time.Now().UTC()

func processSubject(s string) string { return "ink.process." + s }

// announceProcess says every so often, until ctx is done, that this process runs the stage, and in the end that it
// no longer does.
func (c *Consumer) announceProcess(ctx context.Context) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	version := ""
	if c.bus.tel != nil {
		version = c.bus.tel.Version
	}
	tick := time.NewTicker(ProcessInterval)
	defer tick.Stop()
	for {
		now := Process{Stage: c.stage, Host: host, PID: os.Getpid(), Version: version, Start: processStart,
			InFlight: int(c.handled.Load()), Walls: c.bus.processWalls(), Stopping: ctx.Err() != nil}
		if data, err := json.Marshal(now); err == nil {
			// One that gets lost is followed by another.
			_ = c.bus.nc.Publish(processSubject(string(c.stage)), data)
		}
		if now.Stopping {
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// processRegistry tells which processes serve each stage.
type processRegistry struct {
	*connection

	wallsMu sync.Mutex        // guards walls
	walls   map[string]string // around the engines of this process; see SetProcessWalls
}

// SetProcessWalls has this process tell which walls are around an engine's children.
func (b *processRegistry) SetProcessWalls(engine, walls string) {
	b.wallsMu.Lock()
	defer b.wallsMu.Unlock()
	if b.walls == nil {
		b.walls = make(map[string]string)
	}
	b.walls[engine] = walls
}

func (b *processRegistry) processWalls() map[string]string {
	b.wallsMu.Lock()
	defer b.wallsMu.Unlock()
	return maps.Clone(b.walls)
}

// FollowProcesses calls visit with what processes say of themselves, until ctx is done.
func (b *processRegistry) FollowProcesses(ctx context.Context, visit func(Process)) error {
	sub, err := b.nc.Subscribe(processSubject("*"), func(msg *nats.Msg) {
		var p Process
		if json.Unmarshal(msg.Data, &p) == nil && processSubject(string(p.Stage)) == msg.Subject {
			visit(p)
		}
	})
	if err != nil {
		return fmt.Errorf("follow processes: %w", err)
	}
	<-ctx.Done()
	// The connection may be gone, and the subscription with it.
	_ = sub.Unsubscribe()
	return nil
}
