// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// The broker's side of REGISTER_BROKER (103), UNREGISTER_BROKER (104) and QUERY_DATA_VERSION (322).
//
// Not done: compressedRegister, enableSplitRegistration (one registration is one frame, so at most some 70,000 topics),
// enableSingleTopicRegister, name servers from an address server or DNS list, BROKER_HEARTBEAT (904) for acting masters.

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// registerTopics is what registering needs of the topics.
type registerTopics interface {
	Get(name string) *topic.Config
	All() (protocol.DataVersion, []*topic.Config)
	Version() protocol.DataVersion
	SetOrder(names []string) error
}

// How often the list of name servers is read again, and how long a dead one is left alone.
const (
	rereadNames   = 10 * time.Second
	firstRetry    = time.Second
	longestRetry  = 5 * time.Second
	leaveTimeout  = 300 * time.Millisecond
	shortestCycle = 10 * time.Second
	longestCycle  = time.Minute
)

// registrar tells all name servers of this broker and its topics: at start, every 30 s, and at once when a topic changes.
// Each name server has a goroutine of its own, so that none waits for another; what changes while one is being told is
// told together next.
type registrar struct {
	cfg    *config.Live[Config]
	log    *slog.Logger
	client *remoting.Client
	topics registerTopics // set by run
	begun  chan struct{}  // closed when run knows its name servers

	mu       sync.Mutex
	servers  map[string]*nameServer
	news     uint64        // counts calls of changed and all, and the start
	progress chan struct{} // closed and replaced when a name server was told something
}

// nameServer is one that is told. The registrar's mu guards what changes.
type nameServer struct {
	addr string
	wake chan struct{} // there is something to tell; at most one note
	stop context.CancelFunc

	full    bool                // all topics are to be told
	changed map[string]struct{} // topics to be told
	told    uint64              // the registrar's news that it knows
	failed  bool                // the last try
}

func newRegistrar(cfg *config.Live[Config], log *slog.Logger) *registrar {
	rc := remoting.DefaultConfig()
	rc.Logger = log
	return &registrar{
		cfg: cfg, log: log, client: remoting.NewClient(nil, nil, rc),
		begun: make(chan struct{}), servers: map[string]*nameServer{}, news: 1, progress: make(chan struct{}),
	}
}

// run registers until ctx ends, then unregisters everywhere.
func (r *registrar) run(ctx context.Context, topics registerTopics) error {
	r.topics = topics
	var running sync.WaitGroup
	again := time.NewTicker(rereadNames)
	defer again.Stop()
	r.follow(ctx, &running)
	close(r.begun)
	for ; ; r.follow(ctx, &running) {
		select {
		case <-again.C:
			continue
		case <-ctx.Done():
		}
		running.Wait()
		r.leave()
		return r.client.Close()
	}
}

// follow starts with name servers that are new in the settings and stops with those that are no longer.
func (r *registrar) follow(ctx context.Context, running *sync.WaitGroup) {
	addrs := r.cfg.Load().Names.Addrs
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, addr := range addrs {
		if r.servers[addr] != nil {
			continue
		}
		own, stop := context.WithCancel(ctx)
		n := &nameServer{addr: addr, wake: make(chan struct{}, 1), stop: stop, full: true, changed: map[string]struct{}{}}
		r.servers[addr] = n
		running.Go(func() { r.serve(own, n) })
	}
	for addr, n := range r.servers {
		if !slices.Contains(addrs, addr) {
			n.stop()
			delete(r.servers, addr)
		}
	}
}

// changed has the given topics told to all name servers. It does not wait.
func (r *registrar) changed(names []string) {
	r.tell(func(n *nameServer) {
		for _, name := range names {
			n.changed[name] = struct{}{}
		}
	})
}

// all has everything told again. It does not wait.
func (r *registrar) all() { r.tell(func(n *nameServer) { n.full = true }) }

func (r *registrar) tell(note func(n *nameServer)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.news++
	for _, n := range r.servers {
		note(n)
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
}

// wait returns when every name server that can be reached knows what changed before the call, or ctx ends.
func (r *registrar) wait(ctx context.Context) {
	r.mu.Lock()
	news := r.news
	for {
		waiting := false
		for _, n := range r.servers {
			waiting = waiting || n.told < news && !n.failed
		}
		progress := r.progress
		r.mu.Unlock()
		if !waiting {
			return
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
	}
}

// serve tells one name server what there is to tell, until ctx ends.
func (r *registrar) serve(ctx context.Context, n *nameServer) {
	retry := firstRetry
	for ctx.Err() == nil {
		job := r.take(n)
		err := r.register(ctx, n.addr, job)
		r.note(ctx, n, job, err)
		wait, lost := cycle(r.cfg.Load().Names.Period), (<-chan struct{})(nil)
		if err != nil {
			wait, retry = retry, min(2*retry, longestRetry)
		} else {
			retry = firstRetry
			if conn, err := r.client.Conn(ctx, n.addr); err == nil {
				lost = conn.Done() // a name server that went away comes back knowing nothing
			}
		}
		r.pause(ctx, n, wait, lost, err != nil)
	}
}

// pause waits until there is something to tell. After a failure changes do not shorten it.
func (r *registrar) pause(ctx context.Context, n *nameServer, wait time.Duration, lost <-chan struct{}, failed bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	wake := n.wake
	if failed {
		wake = nil
	}
	select {
	case <-ctx.Done():
	case <-wake:
		return
	case <-lost:
	case <-timer.C:
	}
	r.mu.Lock()
	n.full = true
	r.mu.Unlock()
}

func cycle(period time.Duration) time.Duration { return min(max(period, shortestCycle), longestCycle) }

// registration is what one request to a name server tells.
type registration struct {
	full  bool
	names []string // changed topics, when not full
	news  uint64
}

// take takes over what there is to tell. Full unless there are changes alone.
func (r *registrar) take(n *nameServer) registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	job := registration{full: n.full || len(n.changed) == 0, names: slices.Sorted(maps.Keys(n.changed)), news: r.news}
	n.full = false
	clear(n.changed)
	select { // a note of what is taken along now would have everything told once more
	case <-n.wake:
	default:
	}
	return job
}

// note remembers how it went. Whatever failed is told again with everything else.
func (r *registrar) note(ctx context.Context, n *nameServer, job registration, err error) {
	if err != nil && ctx.Err() != nil {
		return // we gave up, not the name server
	}
	r.mu.Lock()
	before := n.failed
	n.failed = err != nil
	if err != nil {
		n.full = true
	} else {
		n.told = job.news
	}
	close(r.progress)
	r.progress = make(chan struct{})
	r.mu.Unlock()
	switch {
	case err != nil && !before:
		r.log.Warn("cannot register at a name server; going on trying", "addr", n.addr, "err", err)
	case err == nil && before:
		r.log.Info("registered at a name server again", "addr", n.addr)
	}
}
