// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics of one name server. RocketMQ has none for it; the names are ours.
type metrics struct {
	registrations *prometheus.CounterVec // result: ok, stale, refused, bad
	departures    *prometheus.CounterVec // cause: goodbye, closed, expired
	routes        *prometheus.CounterVec // result: found, unknown, not_ready
	encodings     prometheus.Counter
	pushes        *prometheus.CounterVec // result: sent, failed, dropped
}

func newMetrics(reg prometheus.Registerer, t *routeTable) (*metrics, error) {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "goddard", Subsystem: "nameserver", Name: name, Help: help,
		}, []string{label})
	}
	gauge := func(name, help string, value func() int) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "goddard", Subsystem: "nameserver", Name: name, Help: help,
		}, func() float64 { return float64(value()) })
	}
	m := &metrics{
		registrations: counter("registrations_total", "Broker registrations received.", "result"),
		departures:    counter("departures_total", "Broker registrations that ended.", "cause"),
		routes:        counter("route_requests_total", "Route requests answered.", "result"),
		encodings: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "goddard", Subsystem: "nameserver", Name: "route_encodings_total",
			Help: "Routes that had to be encoded because the topic or its brokers had changed.",
		}),
		pushes: counter("min_id_pushes_total", "Pushes to brokers that the smallest id of their name changed.", "result"),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.registrations, m.departures, m.routes, m.encodings, m.pushes,
		gauge("topics", "Topics with a route.", func() int { topics, _ := t.sizes(); return topics }),
		gauge("brokers", "Live broker processes.", func() int { _, brokers := t.sizes(); return brokers }),
	} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
