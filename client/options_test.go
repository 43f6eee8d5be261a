// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/route"
)

func TestWrongOptionsAreNamedAllAtOnce(t *testing.T) {
	handler := func(context.Context, *Received) error { return nil }
	for _, test := range []struct {
		situation string
		make      func() error
		parts     []string
	}{
		{"a producer without a name server", func() error { return second(NewProducer()) }, []string{"no name server"}},
		{"a producer with much wrong", func() error {
			return second(NewProducer(NameServers("a:b"), ProducerGroup("p g"), SendTimeout(0), SendRetries(-1), MaxMessageBytes(0),
				NewTopicQueues(0), MaxInFlight(0), RouteRefresh(0), HeartbeatInterval(-1), CallTimeout(0)))
		}, []string{`"a:b"`, "p g", "SendTimeout", "SendRetries", "MaxMessageBytes", "NewTopicQueues", "MaxInFlight", "RouteRefresh", "HeartbeatInterval", "CallTimeout"}},
		{"a reader with much wrong", func() error {
			return second(NewReader("a.b", NameServers("h"), PullBatch(0), PullHold(0), ReadGroup(""), ReadQueues(Queue{Topic: "U"}), ReadFilter(Tags("||"))))
		}, []string{"a.b", "PullBatch", "PullHold", "group is blank", "U@:0", "split"}},
		{"a consumer without topics", func() error { return second(NewConsumer("G", handler, NameServers("h"))) }, []string{"no topic"}},
		{"a consumer without a handler", func() error {
			return second(NewConsumer("G", nil, NameServers("h"), Subscribe("T", Filter{})))
		}, []string{"no handler"}},
		{"a consumer of the system's group", func() error {
			return second(NewConsumer("DEFAULT_CONSUMER", handler, NameServers("h"), Subscribe("T", Filter{})))
		}, []string{"choose another name"}},
		{"a consumer with much wrong", func() error {
			return second(NewConsumer(strings.Repeat("g", 121), handler, NameServers("h"), Subscribe("a.b", Tags("||")), Concurrency(0), MaxAttempts(-2),
				CachedMessages(0), CachedBytes(1), CommitInterval(0), RebalanceInterval(0), HandlerTimeout(0)))
		}, []string{"longer than group max length", "a.b", "split", "Concurrency", "MaxAttempts", "CachedMessages", "CachedBytes", "CommitInterval", "RebalanceInterval", "HandlerTimeout"}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			err := test.make()
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range test.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
		})
	}
}

func TestOptionsAreOfOneKind(t *testing.T) {
	if _, ok := any(ProducerGroup("G")).(ConsumerOption); ok {
		t.Error("an option of producers is one of consumers")
	}
	if _, ok := any(Concurrency(1)).(ReaderOption); ok {
		t.Error("an option of consumers is one of readers")
	}
	if _, ok := any(StartAt(Latest())).(ProducerOption); ok {
		t.Error("an option of those who read is one of producers")
	}
}

func TestClientIDsDiffer(t *testing.T) {
	seen := map[string]bool{}
	var c clusterConfig
	for range 1000 {
		seen[c.clientID()] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d ids, want 1000", len(seen))
	}
	c = clusterConfig{clientIP: "10.0.0.1", instance: "i", unit: "u"}
	if got := c.clientID(); got != "10.0.0.1@i@u" {
		t.Errorf("client id %q", got)
	}
}

func TestErrorText(t *testing.T) {
	for _, test := range []struct {
		err  error
		code Code
		text string
	}{
		{nil, 0, ""},
		{errors.New("x"), CodeClient, "x"},
		{invalid("send", errors.New("no message")), CodeClient, "send: no message"},
		{&Error{Code: CodeTopicNotExist, Op: "pull", Addr: "a:1", Remark: "apply first"}, CodeTopicNotExist, "pull at a:1: TOPIC_NOT_EXIST (17): apply first"},
		{&Error{Code: CodeNoRoute, Op: "find", Err: errors.New("gone")}, CodeNoRoute, "find: no route: gone"},
		{&Error{Code: CodeNoBroker, Op: "send"}, CodeNoBroker, "send: no such broker"},
		{wrap("send", "a:1", context.DeadlineExceeded), CodeTimeout, "send at a:1: no answer in time: context deadline exceeded"},
		{wrap("send", "", context.Canceled), CodeClient, "send: context canceled"},
		{wrap("ask", "", route.ErrNoNameServer), CodeNoNameServer, "ask: no name server: no name server answers"},
		{wrap("send", "a:1", errors.New("reset")), CodeConnect, "send at a:1: no connection: reset"},
		{&RetryError{DelayLevel: 3}, CodeClient, "again at delay level 3"},
		{&RetryError{Err: errors.New("later")}, CodeClient, "later"},
	} {
		if CodeOf(test.err) != test.code {
			t.Errorf("%v: code %v, want %v", test.err, CodeOf(test.err), test.code)
		}
		if test.err != nil && test.err.Error() != test.text {
			t.Errorf("text %q, want %q", test.err, test.text)
		}
	}
}

func TestPlacesDescribeThemselves(t *testing.T) {
	for want, s := range map[string]Start{
		"beginning": Beginning(), "latest": Latest(), "offset 7": AtOffset(7), "committed": Committed(),
		"time 2026-01-31T08:00:00Z": AtTime(time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)),
	} {
		if s.String() != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
}
