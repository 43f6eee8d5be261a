// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goddard-mq/goddard/internal/metrics"
)

func TestReady(t *testing.T) {
	h := newHealth(RoleNameServer, RoleBroker)
	handler := newHTTP(h, metrics.NewRegistry("v", "r"), slog.New(slog.DiscardHandler)).Handler
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	full := ""
	steps := []struct {
		name   string
		do     func()
		status int
		body   string
	}{
		{"just begun", func() {}, 503, "name server: starting\nbroker: starting\n"},
		{"one role serves", func() { h.set(RoleNameServer) }, 503, "broker: starting\n"},
		{"the other tells how far it is", func() { h.ask(RoleBroker, func() []string { return []string{"recovering, 41 %"} }) }, 503, "broker: recovering, 41 %\n"},
		{"both serve", func() {
			h.ask(RoleBroker, func() []string {
				if full == "" {
					return nil
				}
				return []string{full}
			})
		}, 200, "ready\n"},
		{"trouble while running", func() { full = "the disk is full" }, 503, "broker: the disk is full\n"},
		{"over", func() { full = "" }, 200, "ready\n"},
		{"stopping", func() { h.set(RoleBroker, "stopping") }, 503, "broker: stopping\n"},
	}
	for _, s := range steps {
		s.do()
		if status, body := ask("/readyz"); status != s.status || body != s.body {
			t.Errorf("%s: %d %q, want %d %q", s.name, status, body, s.status, s.body)
		}
		if status, body := ask("/healthz"); status != 200 || body != "ok\n" {
			t.Errorf("%s: not live: %d %q", s.name, status, body)
		}
	}
}
