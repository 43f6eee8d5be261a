// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package metrics

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewRegistry makes the registry of a process: what Go's runtime and the operating system say about it, and
// goddard_build_info, which is always 1 and carries the version.
func NewRegistry(version, revision string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "goddard_build_info",
		Help:        "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "go_version": runtime.Version()},
	})
	build.Set(1)
	r.MustRegister(build)
	return r
}

// ForBroker gives what a broker's rooms declare the labels that RocketMQ's broker gives its metrics. Like there,
// node_id is the name of the broker, so that a master and its slave differ only by scrape target.
func ForBroker(r prometheus.Registerer, cluster, broker string) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"node_type": "broker", "cluster": cluster, "node_id": broker}, r)
}

// ForNameServer gives what the name server's rooms declare their common label. RocketMQ's name server has no metrics.
func ForNameServer(r prometheus.Registerer) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"node_type": "nameserver"}, r)
}

// maxScrapes bounds how many pages are made at once; more are answered 503.
const maxScrapes = 4

// Handler serves the page that Prometheus reads. A metric that cannot be collected is left out and logged; the others
// are served.
func Handler(r *prometheus.Registry, logger *slog.Logger) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}
