// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/testcluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, nameServers ...string) *Admin {
	t.Helper()
	a, err := New(Config{NameServers: nameServers, Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func names(brokers []Broker) []string {
	var all []string
	for _, b := range brokers {
		all = append(all, b.Name)
	}
	return all
}

func TestTargets(t *testing.T) {
	broker := func(cluster, name string, ids ...int64) *protocol.BrokerData {
		b := &protocol.BrokerData{Cluster: cluster, BrokerName: name, BrokerAddrs: map[int64]string{}}
		for _, id := range ids {
			b.BrokerAddrs[id] = name + ":10911"
		}
		return b
	}
	one := &protocol.ClusterInfo{
		BrokerAddrTable:  map[string]*protocol.BrokerData{"b": broker("C", "b", 0, 1), "a": broker("C", "a", 0), "s": broker("C", "s", 1)},
		ClusterAddrTable: map[string][]string{"C": {"a", "b", "s"}},
	}
	two := &protocol.ClusterInfo{
		BrokerAddrTable:  map[string]*protocol.BrokerData{"a": broker("C", "a", 0), "d": broker("D", "d", 0)},
		ClusterAddrTable: map[string][]string{"C": {"a"}, "D": {"d"}},
	}
	for _, test := range []struct {
		situation string
		info      *protocol.ClusterInfo
		target    Target
		want      []string
		err       string
	}{
		{"the only cluster; a broker without a master is left out", one, Target{}, []string{"a", "b"}, ""},
		{"a cluster by name", two, Target{Cluster: "D"}, []string{"d"}, ""},
		{"a broker by name", one, Target{Broker: "b"}, []string{"b"}, ""},
		{"a broker by address", one, Target{Broker: "a:10911"}, []string{"a"}, ""},
		{"a broker by name, whatever its cluster", two, Target{Broker: "d"}, []string{"d"}, ""},
		{"several clusters", two, Target{}, nil, "there are several clusters: choose one of C, D"},
		{"a cluster that is not there", two, Target{Cluster: "E"}, nil, `no cluster is called "E": there are C, D`},
		{"a broker that is not there", one, Target{Broker: "z"}, nil, `no broker has the name or address "z": there are a, b`},
		{"a broker of another cluster", two, Target{Cluster: "C", Broker: "d"}, nil, `no broker in cluster C has the name or address "d": there is a`},
		{"nothing is registered", &protocol.ClusterInfo{}, Target{}, nil, ""},
	} {
		t.Run(test.situation, func(t *testing.T) {
			got, err := mastersOf(test.info, test.target)
			if test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, names(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTopics(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Brokers: 2})
	a, ctx := open(t, c.NameServerText()), t.Context()
	cfg := protocol.NewTopicConfig("T")
	cfg.ReadQueueNums, cfg.WriteQueueNums, cfg.Attributes = 3, 2, map[string]string{"+message.type": "FIFO"}
	done, err := a.SetTopic(ctx, Target{}, cfg)
	if err != nil || !slices.Equal(names(done), []string{"broker-a", "broker-b"}) {
		t.Fatalf("done at %v, %v", done, err)
	}
	configs, err := a.TopicConfigs(ctx, "T")
	if err != nil || len(configs) != 2 {
		t.Fatalf("%v, %v", configs, err)
	}
	want := cfg.Clone()
	want.Attributes = map[string]string{"message.type": "FIFO"}
	if got := configs["broker-b"]; !got.Equal(want) {
		t.Errorf("settings %+v, want %+v", got, want)
	}
	stats, err := a.TopicStats(ctx, "T")
	if err != nil || len(stats) != 6 {
		t.Errorf("%d queues, %v; want 3 at each broker", len(stats), err)
	}
	for _, list := range []func() ([]string, error){
		func() ([]string, error) { return a.Topics(ctx) },
		func() ([]string, error) { return a.TopicsOf(ctx, "DefaultCluster") },
	} {
		if topics, err := list(); err != nil || !slices.Contains(topics, "T") || !slices.IsSorted(topics) {
			t.Errorf("topics %v, %v", topics, err)
		}
	}
	if done, err := a.DeleteTopic(ctx, Target{}, "T"); err != nil || len(done) != 2 {
		t.Errorf("deleted at %v, %v", done, err)
	}
	for what, ask := range map[string]func() error{
		"TopicRoute":   func() error { _, err := a.TopicRoute(ctx, "T"); return err },
		"TopicConfigs": func() error { _, err := a.TopicConfigs(ctx, "T"); return err },
		"TopicStats":   func() error { _, err := a.TopicStats(ctx, "T"); return err },
		"TopicGroups":  func() error { _, err := a.TopicGroups(ctx, "T"); return err },
		"DeleteTopic":  func() error { _, err := a.DeleteTopic(ctx, Target{}, "T"); return err },
	} {
		if err := ask(); !errors.Is(err, ErrNoTopic) {
			t.Errorf("%s of a topic that is gone: %v, want ErrNoTopic", what, err)
		}
	}
}

func TestTopicIsDeletedAtOneBrokerOnly(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Brokers: 2})
	a, ctx := open(t, c.NameServerText()), t.Context()
	if _, err := a.SetTopic(ctx, Target{}, protocol.NewTopicConfig("T")); err != nil {
		t.Fatal(err)
	}
	if done, err := a.DeleteTopic(ctx, Target{Broker: "broker-a"}, "T"); err != nil || !slices.Equal(names(done), []string{"broker-a"}) {
		t.Errorf("deleted at %v, %v", done, err)
	}
	if _, err := a.TopicRoute(ctx, "T"); err != nil {
		t.Errorf("the other broker's topic: %v", err)
	}
}

func TestGroups(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	a, ctx := open(t, c.NameServerText()), t.Context()
	cfg := protocol.NewSubscriptionGroupConfig("G")
	cfg.RetryMaxTimes = 5
	if done, err := a.SetGroup(ctx, Target{}, cfg); err != nil || len(done) != 1 {
		t.Fatalf("done at %v, %v", done, err)
	}
	got, err := a.Group(ctx, Target{}, "G")
	if err != nil || got["broker-a"].RetryMaxTimes != 5 {
		t.Fatalf("%v, %v", got, err)
	}
	if _, err := a.Group(ctx, Target{}, "nobody"); !errors.Is(err, ErrNoGroup) {
		t.Errorf("a group that is not there: %v", err)
	}

	consumeOne(t, c, "G")
	members, err := a.Members(ctx, Target{}, "G")
	if err != nil || len(members.Clients) != 0 {
		t.Errorf("members %v, %v; want none any more", members, err)
	}
	progress, err := a.Progress(ctx, Target{}, "G")
	var done int64
	for q, p := range progress {
		if q.Topic == "T" {
			done += p.ConsumerOffset
		}
	}
	if err != nil || done != 1 {
		t.Errorf("progress %v, %v; want one message done", progress, err)
	}
	if groups, err := a.TopicGroups(ctx, "T"); err != nil || !slices.Equal(groups, []string{"G"}) {
		t.Errorf("groups of the topic %v, %v", groups, err)
	}

	if done, err := a.DeleteGroup(ctx, Target{}, "G", true); err != nil || len(done) != 1 {
		t.Errorf("deleted at %v, %v", done, err)
	}
	if topics, err := a.Topics(ctx); err != nil || slices.Contains(topics, "%RETRY%G") {
		t.Errorf("topics %v, %v; want no retry topic any more", topics, err)
	}
	if _, err := a.DeleteGroup(ctx, Target{}, "G", true); !errors.Is(err, ErrNoGroup) {
		t.Errorf("deleted again: %v", err)
	}
}

// consumeOne sends a message to T and has a member of the group consume it.
func consumeOne(t *testing.T, c *testcluster.Cluster, group string) {
	t.Helper()
	p, err := client.NewProducer(client.NameServers(c.NameServerText()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if _, err := p.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	got := make(chan struct{}, 1)
	m, err := client.NewConsumer(group, func(context.Context, *client.Received) error { got <- struct{}{}; return nil },
		client.NameServers(c.NameServerText()), client.Subscribe("T", client.Filter{}), client.StartAt(client.Beginning()))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
	case <-time.After(20 * time.Second):
		t.Error("no message in 20 s")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// refusing is a name server that tells of one broker, itself, and a topic there, and
// refuses everything else.
type refusing struct{ addr string }

func (r *refusing) ServeCommand(x *remoting.Exchange) {
	b := protocol.BrokerData{Cluster: "C", BrokerName: "b", BrokerAddrs: map[int64]string{0: r.addr}}
	var body any
	switch x.Request.Code {
	case protocol.GetBrokerClusterInfo:
		body = &protocol.ClusterInfo{
			BrokerAddrTable: map[string]*protocol.BrokerData{"b": &b}, ClusterAddrTable: map[string][]string{"C": {"b"}},
		}
	case protocol.GetRouteInfoByTopic:
		body = &protocol.TopicRouteData{BrokerDatas: []protocol.BrokerData{b}, QueueDatas: []protocol.QueueData{{BrokerName: "b", Perm: 6, ReadQueueNums: 1, WriteQueueNums: 1}}}
	case protocol.CheckConsumerGroups: // as RocketMQ's broker
		x.ReplyTo().Send(&remoting.Command{Code: protocol.RequestCodeNotSupported, Remark: " request type 900001 not supported"})
		return
	default:
		x.ReplyTo().Send(&remoting.Command{Code: protocol.SystemError, Remark: "no mood"})
		return
	}
	x.ReplyTo().Send(&remoting.Command{Body: javajson.Append(nil, body, javajson.Bare)})
}

func TestRefusalsAreErrorsAndNeverEmptyAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := remoting.NewServer(&refusing{l.Addr().String()}, remoting.DefaultConfig())
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	a, ctx := open(t, l.Addr().String()), t.Context()
	asks := map[string]func() error{
		"Topics":       func() error { _, err := a.Topics(ctx); return err },
		"TopicsOf":     func() error { _, err := a.TopicsOf(ctx, "C"); return err },
		"TopicConfigs": func() error { _, err := a.TopicConfigs(ctx, "T"); return err },
		"TopicStats":   func() error { _, err := a.TopicStats(ctx, "T"); return err },
		"TopicGroups":  func() error { _, err := a.TopicGroups(ctx, "T"); return err },
		"SetTopic":     func() error { _, err := a.SetTopic(ctx, Target{}, protocol.NewTopicConfig("T")); return err },
		"DeleteTopic":  func() error { _, err := a.DeleteTopic(ctx, Target{}, "T"); return err },
		"Groups":       func() error { _, err := a.Groups(ctx, Target{}); return err },
		"Group":        func() error { _, err := a.Group(ctx, Target{}, "G"); return err },
		"SetGroup": func() error {
			_, err := a.SetGroup(ctx, Target{}, protocol.NewSubscriptionGroupConfig("G"))
			return err
		},
		"DeleteGroup": func() error { _, err := a.DeleteGroup(ctx, Target{}, "G", true); return err },
		"Progress":    func() error { _, err := a.Progress(ctx, Target{}, "G"); return err },
		"Members":     func() error { _, err := a.Members(ctx, Target{}, "G"); return err },
	}
	for _, what := range slices.Sorted(maps.Keys(asks)) {
		err := asks[what]()
		if err == nil || !strings.Contains(err.Error(), "no mood") || protocol.CodeOf(err) != protocol.SystemError {
			t.Errorf("%s: %v, want the refusal", what, err)
		}
	}
	if checks, err := a.CheckGroups(ctx, Target{}, ""); !errors.Is(err, ErrNoCheck) || len(checks) != 0 {
		t.Errorf("CheckGroups: %v, %v", checks, err)
	}
}

func TestCheckGroups(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Brokers: 2})
	checks, err := open(t, c.NameServerText()).CheckGroups(t.Context(), Target{}, "")
	if err != nil || len(checks) != 2 || checks["broker-b"] == nil || len(checks["broker-b"].Faults) != 0 {
		t.Errorf("%v, %v", checks, err)
	}
}

func TestOneOfTwoFails(t *testing.T) {
	servers := []nameServer{"one", "two", "three"}
	done, err := change("do it", servers, func(n nameServer) error {
		if n == "two" {
			return errors.New("cannot")
		}
		return nil
	})
	if !slices.Equal(done, []nameServer{"one", "three"}) {
		t.Errorf("done at %v", done)
	}
	want := "do it: done at name server one, name server three, but not at all servers: name server two: cannot"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestBadSettingsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	a := open(t, "127.0.0.1:1")
	for situation, change := range map[string]func(*protocol.TopicConfig){
		"a bad name":       func(c *protocol.TopicConfig) { c.TopicName = "a.b" },
		"no queue":         func(c *protocol.TopicConfig) { c.ReadQueueNums = 0 },
		"a bad permission": func(c *protocol.TopicConfig) { c.Perm = 9 },
	} {
		cfg := protocol.NewTopicConfig("T")
		change(cfg)
		if _, err := a.SetTopic(t.Context(), Target{}, cfg); err == nil || strings.Contains(err.Error(), "name server") {
			t.Errorf("%s: %v", situation, err)
		}
	}
	if _, err := a.SetGroup(t.Context(), Target{}, protocol.NewSubscriptionGroupConfig("a b")); err == nil {
		t.Error("a bad group name was taken")
	}
	if _, err := New(Config{NameServers: []string{"h:x"}}); err == nil {
		t.Error("a bad address was taken")
	}
}
