// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// health knows, for each role of the process, why it does not serve yet.
type health struct {
	mu    sync.Mutex
	roles []string
	// check gives a role's reasons, empty when it serves. A role that has not got that far says what it is doing.
	check map[string]func() []string
}

func newHealth(roles ...string) *health {
	h := &health{roles: roles, check: map[string]func() []string{}}
	for _, role := range roles {
		h.set(role, "starting")
	}
	return h
}

// set says what keeps a role from serving.
func (h *health) set(role string, reasons ...string) {
	h.ask(role, func() []string { return reasons })
}

// ask lets a role answer for itself from now on.
func (h *health) ask(role string, reasons func() []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.check[role] = reasons
}

// reasons of all roles, "role: reason" each; none when the node is ready.
func (h *health) reasons() []string {
	h.mu.Lock()
	checks := make([]func() []string, len(h.roles))
	for i, role := range h.roles {
		checks[i] = h.check[role]
	}
	h.mu.Unlock()
	var out []string
	for i, check := range checks {
		for _, reason := range check() {
			out = append(out, h.roles[i]+": "+reason)
		}
	}
	return slices.Clip(out)
}

// serveLive answers that the process runs.
func serveLive(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintln(w, "ok")
}

// serveReady answers 200 when every role serves, otherwise 503 with a line per reason.
func (h *health) serveReady(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if reasons := h.reasons(); len(reasons) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, strings.Join(reasons, "\n"))
		return
	}
	_, _ = fmt.Fprintln(w, "ready")
}
