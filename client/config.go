// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/goddard-mq/goddard/internal/assign"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/route"
)

// clusterConfig is what producers, readers and consumers have in common.
type clusterConfig struct {
	nameServers  []string
	logger       *slog.Logger
	tls          *tls.Config
	dial         func(ctx context.Context, addr string) (net.Conn, error)
	clientIP     string
	instance     string
	unit         string
	routeRefresh time.Duration
	heartbeat    time.Duration
	callTimeout  time.Duration
}

func defaultCluster() clusterConfig {
	return clusterConfig{
		logger:       slog.New(slog.DiscardHandler),
		routeRefresh: 30 * time.Second,
		heartbeat:    30 * time.Second,
		callTimeout:  3 * time.Second,
	}
}

func (c *clusterConfig) validate() error {
	_, err := route.ParseAddresses(c.nameServers...)
	return errors.Join(err,
		positive("RouteRefresh", c.routeRefresh),
		positive("HeartbeatInterval", c.heartbeat),
		positive("CallTimeout", c.callTimeout),
	)
}

// producerConfig of a Producer.
type producerConfig struct {
	cluster        clusterConfig
	group          string
	sendTimeout    time.Duration
	tryTimeout     time.Duration // 0: whatever is left of sendTimeout
	retries        int
	asyncRetries   int
	retryNotStored bool
	compressOver   int
	maxBytes       int
	template       string
	templateQueues int
	avoidSlow      bool
	inFlight       int
	traceTopic     string // "": nothing is told
}

func defaultProducer() producerConfig {
	return producerConfig{
		cluster:        defaultCluster(),
		group:          protocol.GroupDefaultProducer,
		sendTimeout:    3 * time.Second,
		retries:        2,
		asyncRetries:   2,
		compressOver:   4 << 10,
		maxBytes:       4 << 20,
		template:       protocol.TopicDefault,
		templateQueues: 4,
		inFlight:       1024,
	}
}

func (c *producerConfig) validate() error {
	return errors.Join(
		c.cluster.validate(),
		protocol.CheckGroup(c.group),
		positive("SendTimeout", c.sendTimeout),
		between("SendRetries", c.retries, 0, 1000),
		between("AsyncSendRetries", c.asyncRetries, 0, 1000),
		between("MaxMessageBytes", c.maxBytes, 1, 1<<30),
		between("NewTopicQueues", c.templateQueues, 1, 1<<15),
		between("MaxInFlight", c.inFlight, 1, 1<<20),
		checkTraceTopic(c.traceTopic),
	)
}

// pullConfig is what readers and consumers have in common.
type pullConfig struct {
	start Start
	batch int           // messages of one pull
	hold  time.Duration // how long the broker may hold a pull
}

func (c *pullConfig) validate() error {
	return errors.Join(
		between("PullBatch", c.batch, 1, 1024),
		positive("PullHold", c.hold),
	)
}

// readerConfig of a Reader.
type readerConfig struct {
	cluster  clusterConfig
	pull     pullConfig
	group    string
	filter   Filter
	queues   []Queue
	untilEnd bool
}

func defaultReader() readerConfig {
	return readerConfig{
		cluster: defaultCluster(),
		pull:    pullConfig{start: Beginning(), batch: 32, hold: 15 * time.Second},
		group:   protocol.GroupTools,
	}
}

func (c *readerConfig) validate(topic string) error {
	errs := []error{c.cluster.validate(), c.pull.validate(), protocol.CheckTopic(topic), protocol.CheckGroup(c.group)}
	for _, q := range c.queues {
		if q.Topic != topic {
			errs = append(errs, fmt.Errorf("ReadQueues: queue %s is not one of topic %s", q, topic))
		}
	}
	_, err := c.filter.subscription(topic, 0)
	return errors.Join(append(errs, err)...)
}

// consumerConfig of a Consumer.
type consumerConfig struct {
	cluster        clusterConfig
	pull           pullConfig
	group          string
	subscriptions  map[string]Filter
	strategy       assign.Strategy
	concurrency    int
	maxAttempts    int
	commitEvery    time.Duration
	rebalance      time.Duration
	cachedCount    int // messages of one queue that may wait
	cachedBytes    int
	maxSpan        int64
	handlerTimeout time.Duration
	drain          time.Duration
	traceTopic     string // "": nothing is told
}

func defaultConsumer() consumerConfig {
	return consumerConfig{
		cluster:        defaultCluster(),
		pull:           pullConfig{start: Latest(), batch: 32, hold: 15 * time.Second},
		subscriptions:  map[string]Filter{},
		strategy:       assign.Average{},
		concurrency:    20,
		maxAttempts:    -1,
		commitEvery:    5 * time.Second,
		rebalance:      20 * time.Second,
		cachedCount:    1000,
		cachedBytes:    100 << 20,
		maxSpan:        2000,
		handlerTimeout: 15 * time.Minute,
		drain:          30 * time.Second,
	}
}

func (c *consumerConfig) validate() error {
	errs := []error{
		c.cluster.validate(), c.pull.validate(), protocol.CheckGroup(c.group),
		between("Concurrency", c.concurrency, 1, 1000),
		between("MaxAttempts", c.maxAttempts, -1, 1<<30),
		between("CachedMessages", c.cachedCount, 1, 65535),
		between("CachedBytes", c.cachedBytes, 1<<20, 1<<40),
		positive("CommitInterval", c.commitEvery),
		positive("RebalanceInterval", c.rebalance),
		positive("HandlerTimeout", c.handlerTimeout),
		checkTraceTopic(c.traceTopic),
	}
	if c.group == protocol.GroupDefaultConsumer {
		errs = append(errs, fmt.Errorf("group %s is the system's: choose another name", c.group))
	}
	if len(c.subscriptions) == 0 {
		errs = append(errs, errors.New("no topic: give at least one Subscribe"))
	}
	for topic, filter := range c.subscriptions {
		_, err := filter.subscription(topic, 0)
		errs = append(errs, protocol.CheckTopic(topic), err)
	}
	return errors.Join(errs...)
}

func checkTraceTopic(topic string) error {
	if topic == "" {
		return nil
	}
	if err := protocol.CheckTopic(topic); err != nil {
		return fmt.Errorf("Trace: %w", err)
	}
	return nil
}

func positive(option string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s: %s is not above zero", option, d)
	}
	return nil
}

func between(option string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s: %d is not within %d and %d", option, n, least, most)
	}
	return nil
}
