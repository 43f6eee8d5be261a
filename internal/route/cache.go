// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package route

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Config of a Cache.
type Config struct {
	Refresh time.Duration // between two refreshes of all topics in use
	Logger  *slog.Logger
	// Changed, when set, is told of routes that are new or lead elsewhere, on the
	// goroutine that asked. It must not block.
	Changed func(*Route)
}

// DefaultConfig refreshes every 30 s.
func DefaultConfig() Config {
	return Config{Refresh: 30 * time.Second, Logger: slog.New(slog.DiscardHandler)}
}

// Cache keeps the routes of topics in use.
type Cache struct {
	cfg     Config
	servers *NameServers

	// mu guards the fields below.
	mu      sync.Mutex
	routes  map[string]*Route
	asking  map[string]chan struct{} // topics being asked for the first time; closed when answered
	brokers map[string]Broker        // of all routes, by name; replaced as a whole
}

// NewCache is an empty cache over name servers.
func NewCache(cfg Config, servers *NameServers) *Cache {
	return &Cache{
		cfg: cfg, servers: servers,
		routes: map[string]*Route{}, asking: map[string]chan struct{}{}, brokers: map[string]Broker{},
	}
}

// Get gives the topic's route, asking for it when it is not known yet; those who ask
// for the same topic at that time wait for one answer. The error of a topic that no
// broker has is a *protocol.Error with TopicNotExist.
func (c *Cache) Get(ctx context.Context, topic string) (*Route, error) {
	return c.get(ctx, topic, func() (*Route, error) {
		data, err := c.ask(ctx, topic)
		if err != nil {
			return nil, err
		}
		return New(topic, data), nil
	})
}

// GetOrTemplate is Get for a sender: a topic that does not exist gets the route of
// the template topic with at most queues queues at each broker, so that the first
// message can create it there.
func (c *Cache) GetOrTemplate(ctx context.Context, topic, template string, queues int32) (*Route, error) {
	return c.get(ctx, topic, func() (*Route, error) {
		data, err := c.ask(ctx, topic)
		if err == nil {
			return New(topic, data), nil
		}
		if protocol.CodeOf(err) != protocol.TopicNotExist || template == "" {
			return nil, err
		}
		data, templateErr := c.ask(ctx, template)
		if protocol.CodeOf(templateErr) == protocol.TopicNotExist {
			return nil, err // no topic is created on first use here
		}
		if templateErr != nil {
			return nil, templateErr
		}
		return asTemplate(topic, data, queues), nil
	})
}

// get gives what is cached or lets one caller ask.
func (c *Cache) get(ctx context.Context, topic string, ask func() (*Route, error)) (*Route, error) {
	for {
		c.mu.Lock()
		if r := c.routes[topic]; r != nil {
			c.mu.Unlock()
			return r, nil
		}
		other := c.asking[topic]
		if other == nil {
			mine := make(chan struct{})
			c.asking[topic] = mine
			c.mu.Unlock()
			return c.first(topic, mine, ask)
		}
		c.mu.Unlock()
		select {
		case <-other: // look again; when it failed, ask ourselves
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the route of topic %s: %w", topic, ctx.Err())
		}
	}
}

func (c *Cache) first(topic string, done chan struct{}, ask func() (*Route, error)) (*Route, error) {
	defer func() {
		c.mu.Lock()
		delete(c.asking, topic)
		c.mu.Unlock()
		close(done)
	}()
	r, err := ask()
	if err != nil {
		return nil, err
	}
	return c.put(r), nil
}

// put stores a route unless it is the one that is known, and tells of the change.
func (c *Cache) put(r *Route) *Route {
	c.mu.Lock()
	if old := c.routes[r.Topic]; old.Equal(r) {
		c.mu.Unlock()
		return old
	}
	c.routes[r.Topic] = r
	c.mergeBrokersLocked(r.Brokers)
	c.mu.Unlock()
	if c.cfg.Changed != nil {
		c.cfg.Changed(r)
	}
	return r
}

// Cached gives the route when it is known, without asking anybody.
func (c *Cache) Cached(topic string) (*Route, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.routes[topic]
	return r, r != nil
}

// Forget drops a topic: it is no longer refreshed.
func (c *Cache) Forget(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.routes, topic)
	c.mergeBrokersLocked(nil)
}

// Refresh asks for the topic again. When that fails, what was known stays: a route
// does not expire because name servers are away or have forgotten the topic.
func (c *Cache) Refresh(ctx context.Context, topic string) (*Route, error) {
	data, err := c.ask(ctx, topic)
	if err != nil {
		return nil, err
	}
	return c.put(New(topic, data)), nil
}

// Topics gives the topics in use, sorted.
func (c *Cache) Topics() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.routes))
}

// Run refreshes all topics in use, again and again, until ctx ends.
func (c *Cache) Run(ctx context.Context) error {
	tick := time.NewTicker(c.cfg.Refresh)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.refreshAll(ctx)
		}
	}
}

func (c *Cache) refreshAll(ctx context.Context) {
	for _, topic := range c.Topics() {
		_, err := c.Refresh(ctx, topic)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, ErrNoNameServer):
			c.cfg.Logger.Warn("route not refreshed, the known one stays in use", "topic", topic, "err", err)
			return // the others would wait just as long
		default:
			c.cfg.Logger.Debug("route not refreshed, the known one stays in use", "topic", topic, "err", err)
		}
	}
}

// Broker finds a broker by name among those of all topics in use.
func (c *Cache) Broker(name string) (Broker, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.brokers[name]
	return b, ok
}

// Brokers gives the brokers of all topics in use, sorted by name.
func (c *Cache) Brokers() []Broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Broker
	for _, name := range slices.Sorted(maps.Keys(c.brokers)) {
		all = append(all, c.brokers[name])
	}
	return all
}

// mergeBrokersLocked drops brokers that no route names any more and takes over the
// latest ones: routes that were fetched at different times may tell different
// addresses of one broker, and the last word counts.
func (c *Cache) mergeBrokersLocked(latest []Broker) {
	brokers := map[string]Broker{}
	for _, r := range c.routes {
		for _, b := range r.Brokers {
			if known, ok := c.brokers[b.Name]; ok {
				b = known
			}
			brokers[b.Name] = b
		}
	}
	for _, b := range latest {
		brokers[b.Name] = b
	}
	c.brokers = brokers
}

func (c *Cache) ask(ctx context.Context, topic string) (*protocol.TopicRouteData, error) {
	return Ask(ctx, c.servers, topic)
}

// Ask asks name servers for a topic's route as it is on the wire.
func Ask(ctx context.Context, servers *NameServers, topic string) (*protocol.TopicRouteData, error) {
	resp, err := servers.Call(ctx, &remoting.Command{
		Code:   protocol.GetRouteInfoByTopic,
		Header: header.Of(&protocol.RouteRequest{Topic: topic, AcceptStandardJSONOnly: true}),
	})
	if err != nil {
		return nil, fmt.Errorf("ask for the route of topic %s: %w", topic, err)
	}
	if resp.Code != protocol.Success {
		return nil, &protocol.Error{Code: resp.Code, Remark: resp.Remark}
	}
	data := new(protocol.TopicRouteData)
	if err := javajson.Unmarshal(resp.Body, data); err != nil {
		return nil, fmt.Errorf("read the route of topic %s: %w", topic, err)
	}
	return data, nil
}
