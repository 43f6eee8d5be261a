// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/router"
	"github.com/goddard-mq/goddard/internal/store"
)

// metrics of the broker's core. Those with RocketMQ's names mean what they mean there; the others are Goddard's own.
type metrics struct {
	registry     prometheus.Registerer
	requests     *prometheus.CounterVec // by request and response
	sends        [store.UnknownError + 1]prometheus.Counter
	pulledCount  prometheus.Counter
	pulledBytes  prometheus.Counter
	deadLetters  prometheus.Counter
	filterFaults prometheus.Counter
	unconsumed   *prometheus.CounterVec // by group and topic
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		registry: r,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "goddard_broker_requests_total",
			Help: "Requests by code and by the code they were answered with; deferred are those answered later (sends, held pulls).",
		}, []string{"request_code", "response_code"}),
		pulledCount: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "goddard_broker_pulled_messages_total", Help: "Messages handed out by pulls.",
		}),
		pulledBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "goddard_broker_pulled_bytes_total", Help: "Bytes of records handed out by pulls.",
		}),
		deadLetters: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "goddard_broker_dead_letters_total", Help: "Messages that went to a dead-letter topic.",
		}),
		filterFaults: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "goddard_broker_filter_failures_total",
			Help: "Times that a message was not delivered because the group's SQL92 filter could not be evaluated on its properties.",
		}),
		unconsumed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "goddard_broker_removed_unconsumed_messages_total",
			Help: "Messages that were removed, for their age or for space, before a group had consumed them; those that its filter would not have taken included.",
		}, []string{"consumer_group", "topic"}),
	}
	sends := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "goddard_broker_sends_total", Help: "Appends of messages and batches by their outcome.",
	}, []string{"status"})
	for s := range m.sends {
		m.sends[s] = sends.WithLabelValues(store.Status(s).String())
	}
	return m, m.register(m.requests, m.pulledCount, m.pulledBytes, m.deadLetters, m.filterFaults, m.unconsumed, sends)
}

func (m *metrics) register(all ...prometheus.Collector) error {
	for _, c := range all {
		if err := m.registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// watch adds gauges of what the broker holds, read when they are asked for.
func (m *metrics) watch(b *Broker) error {
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	all := []prometheus.Collector{
		gauge("goddard_broker_held_pulls", "Pulls held until a message arrives.", func() float64 { return float64(b.lot.Held()) }),
		gauge("goddard_broker_sends_in_flight", "Appends that wait for the store.", func() float64 { return float64(b.sender.inFlight.Load()) }),
		gauge("rocketmq_broker_permission", "What the broker may do: 2 write, 4 read.", func() float64 { return float64(b.cfg.Load().Identity.Perm) }),
		gauge("rocketmq_topic_number", "Topics.", func() float64 { return float64(b.topics.Len()) }),
		gauge("rocketmq_consumer_group_number", "Consumer groups.", func() float64 { return float64(b.groups.Len()) }),
	}
	for _, kind := range protocol.FaultKinds {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "goddard_broker_group_faults", Help: "Faults of consumer groups at the last look; goddard group check names them.",
			ConstLabels: prometheus.Labels{"kind": kind},
		}, func() float64 { return float64(b.trouble.Count(kind)) }))
	}
	for name, l := range b.lanes.byProcessor() {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "rocketmq_processor_watermark", Help: "Requests that wait for their turn.", ConstLabels: prometheus.Labels{"processor": name},
		}, func() float64 { return float64(l.Size()) }))
	}
	return m.register(all...)
}

func (m *metrics) sent(s store.Status) {
	if int(s) < len(m.sends) {
		m.sends[s].Inc()
	}
}

func (m *metrics) pulled(messages, bytes int) {
	m.pulledCount.Add(float64(messages))
	m.pulledBytes.Add(float64(bytes))
}

var _ router.Observer = (*metrics)(nil)

// Route counts the requests of a route (router.Observer).
func (m *metrics) Route(code int32, _, _ string) router.RouteObserver {
	r := &routeCounter{requests: m.requests, code: strings.ToLower(protocol.CodeName(code))}
	r.success, r.deferred = r.counter(protocol.Success), r.counter(router.Deferred)
	return r
}

// routeCounter keeps the counters of the usual outcomes at hand.
type routeCounter struct {
	requests          *prometheus.CounterVec
	code              string
	success, deferred prometheus.Counter
	others            sync.Map // response code: prometheus.Counter
}

// Done counts one request (router.RouteObserver).
func (r *routeCounter) Done(answer int32, _ time.Duration) {
	switch answer {
	case protocol.Success:
		r.success.Inc()
	case router.Deferred:
		r.deferred.Inc()
	default:
		c, ok := r.others.Load(answer)
		if !ok {
			c, _ = r.others.LoadOrStore(answer, r.counter(answer))
		}
		c.(prometheus.Counter).Inc()
	}
}

func (r *routeCounter) counter(answer int32) prometheus.Counter {
	name := "deferred"
	if answer != router.Deferred {
		name = strings.ToLower(protocol.ResponseName(answer))
	}
	return r.requests.WithLabelValues(r.code, name)
}
