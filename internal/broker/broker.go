// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goddard-mq/goddard/internal/broker/delay"
	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/longpoll"
	"github.com/goddard-mq/goddard/internal/broker/offset"
	"github.com/goddard-mq/goddard/internal/broker/stats"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/broker/trouble"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/filter"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/router"
	"github.com/goddard-mq/goddard/internal/statefile"
	"github.com/goddard-mq/goddard/internal/store"
)

// Deps are what a broker is given.
type Deps struct {
	Logger  *slog.Logger          // nil discards
	Metrics prometheus.Registerer // nil: nobody looks
	// Recovering is told by New now and then how far recovery has read the log; it must not block. nil: nobody asks.
	Recovering func(offset, end int64)
	// Clock is what messages get their store time from, and grow old by; nil: the machine's.
	Clock store.Clock
}

// Broker takes, keeps and delivers messages. Its parts are made by New, serve and run side by side, and are ended by
// Shutdown.
type Broker struct {
	cfg     *config.Live[Config]
	log     *slog.Logger
	metrics *metrics

	topics    *topic.Table
	groups    *group.Table
	members   *group.Members
	locks     *group.Locks
	offsets   *offset.Table
	broadcast *offset.Broadcast
	trouble   *trouble.Watch
	modes     *group.Modes
	filters   *group.Filters
	stats     *stats.Set
	store     *store.Store
	delay     *delay.Scheduler
	lot       *longpoll.Lot
	registrar *registrar
	sender    *sender

	unconsumed *unconsumed

	expressions *filter.Cache

	lanes      *lanes
	main, fast *router.Router
	slow       *router.Router // for what an inline handler puts off
	servers    []*remoting.Server

	background context.Context // of Run; ended by Shutdown
	end        context.CancelFunc
	listed     context.Context // of the registrar, within background; ended by Leave
	unlist     context.CancelFunc
	ending     sync.Mutex // Run begins or Shutdown ends it, not both at a time
	running    sync.WaitGroup
	levels     levelTable

	closeTables func() error // writes what they have to write, once: the store's lock may be gone later

	stopping sync.Once
	stopped  error
}

// New opens what is on disk and makes a broker of it; when ctx ends it gives up, which after a crash, with much of the log
// to read, may save minutes. Nothing is served before Serve. Whoever called New calls Shutdown, whatever happens in
// between.
func New(ctx context.Context, cfg Config, d Deps) (*Broker, error) {
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Metrics == nil {
		d.Metrics = prometheus.NewRegistry()
	}
	log := d.Logger.With("broker", cfg.Identity.Name)
	warning, err := cfg.Identity.advertise(net.InterfaceAddrs)
	if err != nil {
		return nil, err
	}
	if warning != "" {
		log.Warn(warning)
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	b := &Broker{
		cfg: config.NewLive(cfg), log: log, expressions: filter.NewCache(filter.DefaultCacheEntries, filter.DefaultCacheBytes),
	}
	b.closeTables = sync.OnceValue(b.writeTables)
	b.background, b.end = context.WithCancel(context.Background())
	b.listed, b.unlist = context.WithCancel(b.background)
	if b.metrics, err = newMetrics(d.Metrics); err != nil {
		return nil, fmt.Errorf("declare metrics: %w", err)
	}
	if err := b.open(ctx, d); err != nil {
		return nil, b.giveUp(err)
	}
	if err := b.wire(); err != nil {
		return nil, b.giveUp(err)
	}
	return b, nil
}

// giveUp closes what was opened. What cannot be written then counts, even where err says only that ctx ended.
func (b *Broker) giveUp(err error) error {
	if fault := b.close(); fault != nil {
		return fmt.Errorf("%v; %w", err, fault)
	}
	return err
}

// open opens the store, which makes and locks the folder, and the tables. Files of state are touched only under that lock,
// as another broker may be using them, but before recovery ends: it asks which topics there are, to leave deleted ones
// dead.
func (b *Broker) open(ctx context.Context, d Deps) (err error) {
	cfg := b.cfg.Load()
	b.lot = longpoll.NewLot(longpoll.Config{
		Capacity: func() int { return b.cfg.Load().Lanes.PullCapacity }, Workers: cfg.Lanes.PullWorkers,
	})
	b.registrar = newRegistrar(b.cfg, b.log)
	tables := sync.OnceValue(b.openTables)
	b.unconsumed = &unconsumed{
		logger: b.log, count: b.metrics.unconsumed, lost: map[consumption]*loss{},
		groups: func(topic string) []string { return b.offsets.GroupsOf(topic) },
		next:   func(topic, group string, queue int32) (int64, bool) { return b.offsets.Query(topic, group, queue) },
		delay:  func(level int) int64 { return b.delay.Offset(level) },
	}
	if b.store, err = store.Open(ctx, cfg.Store, store.Deps{
		Logger: b.log, Metrics: d.Metrics, Arrived: b.arrived, Recovering: d.Recovering, Clock: d.Clock,
		Abandon:     func() { _ = b.closeTables() }, // giveUp tells what it says
		DelayOf:     b.delayOf,
		TopicExists: func(name string) bool { return tables() != nil || b.topics.Get(name) != nil },
		BatchTopic: func(name string) (batch, ok bool) {
			if tables() != nil {
				return false, false
			}
			t := b.topics.Get(name)
			return t != nil && t.QueueType == topic.BatchQueue, t != nil
		},
		Reserved: func() map[string]time.Duration {
			if tables() != nil {
				return nil
			}
			return b.topics.Reserved()
		},
		Removed: func(gone []store.Removal, why store.Cause) {
			if tables() == nil {
				b.unconsumed.removed(gone, why)
			}
		},
		Cleaned: func() { b.unconsumed.tell() },
		FilterBits: func(dst []byte, name string, properties []byte) []byte {
			if !b.cfg.Load().Filter.Bits || tables() != nil {
				return nil
			}
			return b.filters.Bits(dst, name, properties)
		},
	}); err != nil {
		return fmt.Errorf("open the store in %s: %w", cfg.Store.Root, err)
	}
	return tables()
}

// openTables opens the settings of topics and groups and the progress of groups and delays.
func (b *Broker) openTables() (err error) {
	cfg := b.cfg.Load()
	dir := filepath.Join(cfg.Store.Root, "config")
	if err := statefile.MakeDir(dir); err != nil {
		return fmt.Errorf("make the folder of settings: %w", err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }

	again := &rebirths{
		topics:  func(name string) *topic.Config { return b.topics.Get(name) },
		readers: func(name string) []string { return b.members.GroupsOf(name) },
		reset:   func(topic, group string, queue int32, to int64) { b.offsets.Reset(topic, group, queue, to) },
		wake:    b.lot.WakeTopic,
	}
	if b.topics, err = topic.Open(topic.Options{
		Path: file("topics.json"), Logger: b.log, Cluster: cfg.Identity.Cluster, Broker: cfg.Identity.Name,
		System: topic.System{
			Template: cfg.Topics.AutoCreate, TemplateQueues: cfg.Topics.DefaultQueues, ClusterTopic: cfg.Topics.ClusterTopic,
			BrokerTopic: cfg.Topics.BrokerTopic, TraceTopic: cfg.traceTopic(), ReviveQueues: cfg.Topics.ReviveQueues,
			TimerWheel: cfg.Topics.TimerWheel,
		},
		AutoCreate: func() bool { return b.cfg.Load().Topics.AutoCreate },
		AllowMixed: func() bool { return b.cfg.Load().Topics.MixedMessageType },
		Light:      cfg.Store.Light.Enable,
		Changed: func(names []string) {
			b.registrar.changed(names)
			again.changed(names)
		},
	}); err != nil {
		return err
	}
	if b.groups, err = group.Open(group.Options{
		Path: file("subscriptionGroup.json"), Logger: b.log,
		AutoCreate:   func() bool { return b.cfg.Load().Groups.AutoCreate },
		CreateSystem: func() bool { return b.cfg.Load().Groups.CreateSystem },
		Light:        cfg.Store.Light.Enable,
	}); err != nil {
		return err
	}
	if b.modes, err = group.OpenModes(file("messageRequestMode.json"), b.log); err != nil {
		return err
	}
	b.filters = group.OpenFilters(group.FiltersOptions{
		Path: file("consumerFilter.json"), Logger: b.log, Compile: b.expressions.Compile,
		Consumers: func(name string) *group.Consumers { return b.members.Consumers(name) },
		Keep:      func() time.Duration { return b.cfg.Load().Filter.Keep },
		Bloom:     filter.NewBloom(int(cfg.Filter.BloomErrors), int(cfg.Filter.BloomGroups)),
		LogEnd:    func() int64 { return b.store.Info().LogMax },
	})
	offsets, before := file("consumerOffset.json"), ""
	if cfg.Store.Light.Enable { // a Java broker does not look into the other file either
		offsets, before = file("lmqConsumerOffset.json"), offsets
	}
	if b.offsets, err = offset.Open(offset.Options{
		Path: offsets, Before: before, Light: cfg.Store.Light.Enable, Logger: b.log,
		FlushInterval: func() time.Duration { return b.cfg.Load().Offsets.FlushInterval },
		VersionStep:   func() int64 { return b.cfg.Load().Offsets.VersionStep },
	}); err != nil {
		return err
	}
	b.delay, err = delay.Open(delay.Config{
		Path: file("delayOffset.json"), Levels: b.delayLevels, Logger: b.log,
		FlushInterval: func() time.Duration { return b.cfg.Load().Offsets.DelayFlushInterval },
		VersionStep:   func() int64 { return b.cfg.Load().Offsets.DelayVersionStep },
		Delivered:     b.delivered,
	})
	return err
}

// delivered counts a delayed message that was put where it was sent.
func (b *Broker) delivered(level int, m *store.Message) {
	if b.cfg.Load().Send.DelayStats {
		b.stats.Delayed(protocol.GroupSchedule, protocol.TopicSchedule, int32(level-1), m.Topic, 1, len(m.Body))
	}
}

// delayOf gives the delay of a level, for the store; those above the highest are the highest.
func (b *Broker) delayOf(level int) time.Duration {
	levels := b.delayLevels()
	return levels.Delay(levels.Clamp(level))
}

// traceTopic is the trace topic to create at start, "" for none.
func (c *Config) traceTopic() string {
	if c.Topics.TraceTopic {
		return c.Topics.TraceTopicName
	}
	return ""
}

// arrived hears from the store what became readable.
func (b *Broker) arrived(a store.Arrival) {
	if a.Topic == protocol.TopicSchedule {
		b.delay.Arrived(a.QueueID)
	}
	b.lot.Arrived(a.Topic, a.QueueID, a.Next, a.TagsCode, a.Properties)
}

// wire makes the handlers, their routes and the servers.
func (b *Broker) wire() error {
	cfg := b.cfg.Load()
	b.members = group.NewMembers(group.MembersOptions{
		Logger:   b.log,
		Expiry:   func() time.Duration { return b.cfg.Load().Clients.ChannelExpiry },
		RealTime: func() bool { return b.cfg.Load().Groups.RealTimeNotify },
	})
	b.locks = group.NewLocks(func() time.Duration { return b.cfg.Load().Groups.LockLife })
	b.broadcast = offset.NewBroadcast(offset.BroadcastOptions{
		Offsets: b.offsets, Online: b.isMemberID, Begin: b.beginOfBroadcast,
		Expiry:    func() time.Duration { return b.cfg.Load().Offsets.BroadcastExpiry },
		MaxExpiry: func() time.Duration { return b.cfg.Load().Offsets.BroadcastMaxExpiry },
	})
	source := &groupSource{
		cfg: b.cfg, members: b.members, groups: b.groups, topics: b.topics, offsets: b.offsets, locks: b.locks, store: b.store,
	}
	b.trouble = trouble.New(trouble.Config{
		Logger: b.log, Groups: source.each, Limits: func() trouble.Limits { return trouble.Limits(b.cfg.Load().Groups.Check) },
	})
	b.stats = stats.New(stats.Options{
		Cluster: cfg.Identity.Cluster, Store: b.storeTotals, Details: cfg.Send.DetailStats,
		IsSystem: func(topic string) bool { return b.topics.IsSystem(topic) },
	})
	host, err := netip.ParseAddrPort(cfg.Identity.addr())
	if err != nil {
		return fmt.Errorf("advertised address: %w", err)
	}
	b.lanes = newLanes(&cfg.Lanes)
	b.sender = &sender{
		cfg: b.cfg, topics: b.topics, groups: b.groups, locks: b.locks, store: b.store, levels: b.delayLevels,
		storeHost: host, metrics: b.metrics, stats: b.stats,
	}
	if err := b.metrics.watch(b); err != nil {
		return fmt.Errorf("declare metrics: %w", err)
	}
	main, fast := b.routes()
	rc := router.Config{Logger: b.log, Role: "broker", Observer: b.metrics}
	b.main, b.fast = router.New(rc, main), router.New(rc, fast)
	for _, r := range []*router.Router{b.main, b.fast} {
		b.servers = append(b.servers, remoting.NewServer(r, b.connections()))
	}
	return nil
}

// storeTotals gives the store's totals to the counters of rates.
func (b *Broker) storeTotals() stats.Totals {
	i := b.store.Info()
	return stats.Totals{Put: i.Appended, Found: i.GetsFound, Miss: i.GetsMiss, Transferred: i.Transferred}
}

const (
	// maxLoops is from where on more goroutines that read for all connections would only make the work of each smaller.
	maxLoops = 16
	// loopsFrom is from how many connections on they are worth it.
	loopsFrom = 16
)

// connections says how clients are served.
func (b *Broker) connections() remoting.Config {
	c := remoting.DefaultConfig()
	c.Logger = b.log
	c.AfterBatch = b.store.Commit
	c.Loops, c.LoopsFrom = min(runtime.GOMAXPROCS(0), maxLoops), loopsFrom
	c.ConnClosed = func(conn *remoting.Conn, _ error) { b.members.Disconnect(conn) }
	return c
}

// Config gives the settings, which change while the broker runs.
func (b *Broker) Config() *Config { return b.cfg.Load() }

// Serve accepts clients on the main port and, unless it is nil, on the fast port, which takes everything but pulls (clients
// before 4.5 send there). It returns nil after Shutdown.
func (b *Broker) Serve(main, fast net.Listener) error {
	outcome := make(chan error, 2)
	ports := 0
	for i, l := range []net.Listener{main, fast} {
		if l != nil {
			ports++
			go func() { outcome <- b.servers[i].Serve(l) }()
		}
	}
	var err error
	for range ports {
		if e := <-outcome; e != nil && err == nil {
			err = e
			b.abandon() // so that the other returns
		}
	}
	return err
}

// abandon ends the serving of both ports at once.
func (b *Broker) abandon() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range b.servers {
		_ = s.Shutdown(ctx)
	}
}
