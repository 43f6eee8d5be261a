// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/broker"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/testcluster"
)

// waitFor waits until something is so.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("did not come: %s", what)
		}
	}
}

// A consumer whose handler hangs is named, and no more so when it goes on.
func TestGroupCheck(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Broker: func(cfg *broker.Config) {
		cfg.Groups.Check = broker.CheckConfig{Every: 5 * time.Millisecond, Unconsumed: time.Hour, Stuck: 20 * time.Millisecond}
	}})
	must(t, c, "", "topic", "create", "jobs", "-q", "1")
	must(t, c, "", "group", "create", "workers")
	must(t, c, "", "group", "create", "idle")
	must(t, c, "", "produce", "jobs", "a")
	waitFor(t, "the first look", func() bool { return run(t, c, "", "group", "check").code == exitOK })
	if got := must(t, c, "", "group", "check"); got != "nothing is wrong with the consumer groups (0 with members)\n" {
		t.Errorf("printed %q", got)
	}

	goOn := make(chan struct{})
	consumer, err := client.NewConsumer("workers", func(ctx context.Context, _ *client.Received) error {
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return nil
	}, client.NameServers(c.NameServerText()), client.Subscribe("jobs", client.Filter{}), client.StartAt(client.Beginning()), client.CommitInterval(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if err := consumer.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := consumer.Close(); err != nil {
			t.Error(err)
		}
	}()
	var got said
	waitFor(t, "a fault", func() bool { got = run(t, c, "", "group", "check", "workers"); return got.code == exitFailed })
	want := regexp.MustCompile(`^BROKER +GROUP +KIND +SINCE +WHAT\nbroker-a +workers +stuck_member +\S+ +client \S+ commits no progress in queue 0 of topic jobs, where 1 messages have waited for \S+; the last pull was \S+ ago\n$`)
	if !want.MatchString(got.out) || !strings.Contains(got.err, "1 fault of consumer groups") {
		t.Errorf("printed %q, said %q", got.out, got.err)
	}
	var line struct {
		Broker string
		Groups int
		Faults []protocol.GroupFault
	}
	got = run(t, c, "", "group", "check", "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &line); err != nil || got.code != exitFailed {
		t.Fatalf("exit %d, printed %q: %v", got.code, got.out, err)
	}
	if f := line.Faults; line.Broker != "broker-a" || line.Groups != 1 || len(f) != 1 || f[0].Kind != protocol.FaultStuckMember || f[0].Group != "workers" || f[0].Waiting != 1 {
		t.Errorf("%+v", line)
	}
	if got := must(t, c, "", "group", "check", "idle"); got != "nothing is wrong with group idle\n" {
		t.Errorf("printed %q", got)
	}
	close(goOn)
	waitFor(t, "the end of the fault", func() bool { return run(t, c, "", "group", "check", "workers").code == exitOK })
	if got := run(t, c, "", "group", "check", "nope"); got.code != exitFailed || !strings.Contains(got.err, "the consumer group does not exist") {
		t.Errorf("an unknown group: exit %d, said %q", got.code, got.err)
	}
}

func TestGroupCheckSwitchedOff(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Broker: func(cfg *broker.Config) { cfg.Groups.Check.Every = 0 }})
	if got := run(t, c, "", "group", "check"); got.code != exitFailed || !strings.Contains(got.err, "consumerGroupCheckInterval is 0") {
		t.Errorf("exit %d, said %q", got.code, got.err)
	}
}
