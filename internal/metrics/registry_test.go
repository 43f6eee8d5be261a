// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package metrics

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// broken is a collector that fails, as one does that reads a disk that is gone.
type broken struct{ desc *prometheus.Desc }

func (b broken) Describe(ch chan<- *prometheus.Desc) { ch <- b.desc }
func (b broken) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(b.desc, errors.New("disk is gone"))
}

func TestHandler(t *testing.T) {
	r := NewRegistry("v1.2.3", "abc")
	topics := prometheus.NewGauge(prometheus.GaugeOpts{Name: "rocketmq_topic_number", Help: "Topics."})
	topics.Set(7)
	ForBroker(r, "DefaultCluster", "broker-a").MustRegister(topics)
	routes := prometheus.NewCounter(prometheus.CounterOpts{Name: "goddard_nameserver_routes_total", Help: "Routes."})
	ForNameServer(r).MustRegister(routes, broken{prometheus.NewDesc("broken", "Fails.", nil, nil)})

	var log bytes.Buffer
	w := httptest.NewRecorder()
	Handler(r, slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	page, _ := io.ReadAll(w.Result().Body)
	for _, want := range []string{
		`rocketmq_topic_number{cluster="DefaultCluster",node_id="broker-a",node_type="broker"} 7`,
		`goddard_nameserver_routes_total{node_type="nameserver"} 0`,
		`goddard_build_info{go_version="go`, `revision="abc",version="v1.2.3"} 1`,
		"go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("page lacks %s", want)
		}
	}
	if !strings.Contains(log.String(), "disk is gone") {
		t.Errorf("log lacks the failure: %s", log.String())
	}
}
