// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	cfg := DefaultConfig()
	cfg.Files.KV = ""
	s, err := New(cfg, Deps{Metrics: reg})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := New(cfg, Deps{Metrics: reg}); err == nil {
		t.Error("two name servers declare the same metrics without an error")
	}
	w := &world{t: t, table: s.table}
	got := w.register(broker{topics: []string{"T", "U"}})
	h := &brokerHandler{metrics: s.metrics, log: s.log}
	h.noteRegistration(&registration{body: &protocol.RegisterBrokerBody{}}, &got)
	h.noteRegistration(&registration{body: &protocol.RegisterBrokerBody{}}, &registered{stale: true})
	const want = `
# HELP goddard_nameserver_brokers Live broker processes.
# TYPE goddard_nameserver_brokers gauge
goddard_nameserver_brokers 1
# HELP goddard_nameserver_registrations_total Broker registrations received.
# TYPE goddard_nameserver_registrations_total counter
goddard_nameserver_registrations_total{result="ok"} 1
goddard_nameserver_registrations_total{result="stale"} 1
# HELP goddard_nameserver_topics Topics with a route.
# TYPE goddard_nameserver_topics gauge
goddard_nameserver_topics 2
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want),
		"goddard_nameserver_brokers", "goddard_nameserver_topics", "goddard_nameserver_registrations_total"); err != nil {
		t.Error(err)
	}
}
