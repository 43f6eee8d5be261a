// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"fmt"
	"strings"
	"sync"
)

// PartialError says which servers did what was asked and which did not. Unwrap gives
// the errors of those that did not.
type PartialError struct {
	Op     string
	Done   []string
	Failed []string
	Errs   []error // by place in Failed
}

// Error names every server that failed, and how many did not.
func (e *PartialError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: ", e.Op)
	if len(e.Done) > 0 {
		fmt.Fprintf(&text, "done at %s, but not at all servers: ", strings.Join(e.Done, ", "))
	}
	for i, server := range e.Failed {
		if i > 0 {
			text.WriteString("; ")
		}
		fmt.Fprintf(&text, "%s: %v", server, e.Errs[i])
	}
	return text.String()
}

// Unwrap gives the errors.
func (e *PartialError) Unwrap() []error { return e.Errs }

// maxParallel bounds how many servers are asked at a time.
const maxParallel = 16

// each calls f for all servers, several at a time, whatever becomes of the others. The
// results are in the order of servers; the error, when any failed, is a *PartialError.
func each[S fmt.Stringer, R any](op string, servers []S, f func(S) (R, error)) ([]R, error) {
	results := make([]R, len(servers))
	errs := make([]error, len(servers))
	slots := make(chan struct{}, maxParallel)
	var wait sync.WaitGroup
	for i, s := range servers {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			results[i], errs[i] = f(s)
		})
	}
	wait.Wait()
	failure := &PartialError{Op: op}
	for i, s := range servers {
		if errs[i] == nil {
			failure.Done = append(failure.Done, s.String())
			continue
		}
		failure.Failed = append(failure.Failed, s.String())
		failure.Errs = append(failure.Errs, errs[i])
	}
	if len(failure.Failed) > 0 {
		return results, failure
	}
	return results, nil
}

// change is each for calls without a result: it gives the servers that did it.
func change[S fmt.Stringer](op string, servers []S, f func(S) error) (done []S, err error) {
	results, err := each(op, servers, func(s S) (bool, error) {
		err := f(s)
		return err == nil, err
	})
	for i, ok := range results {
		if ok {
			done = append(done, servers[i])
		}
	}
	return done, err
}
