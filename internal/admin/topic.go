// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

// ErrNoTopic is in the error about a topic that no broker has.
var ErrNoTopic = errors.New("the topic does not exist")

// Topics gives the names of all topics that the name servers know, sorted. Retry and
// dead-letter topics and those of the system are among them.
func (a *Admin) Topics(ctx context.Context) ([]string, error) {
	return a.topicList(ctx, "ask for the topics", &remoting.Command{Code: protocol.GetAllTopicListFromNameServer})
}

// TopicsOf gives those of one cluster.
func (a *Admin) TopicsOf(ctx context.Context, cluster string) ([]string, error) {
	return a.topicList(ctx, "ask for the topics of cluster "+cluster, &remoting.Command{
		Code:   protocol.GetTopicsByCluster,
		Header: header.Of(&protocol.TopicsByClusterRequest{Cluster: cluster}),
	})
}

func (a *Admin) topicList(ctx context.Context, op string, req *remoting.Command) ([]string, error) {
	resp, err := a.askNameServer(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	topics, err := read[protocol.TopicList](resp, "the topics")
	if err != nil {
		return nil, err
	}
	slices.Sort(topics.TopicList)
	return slices.Compact(topics.TopicList), nil
}

// TopicRoute gives where a topic is. ErrNoTopic when no broker has it.
func (a *Admin) TopicRoute(ctx context.Context, topic string) (*protocol.TopicRouteData, error) {
	data, err := route.Ask(ctx, a.servers, topic)
	if isCode(err, protocol.TopicNotExist) {
		return nil, fmt.Errorf("topic %s: %w", topic, ErrNoTopic)
	}
	return data, err
}

// SetTopic creates a topic on all masters of the target, or gives it other settings
// where it exists: all of them are replaced, but attributes are changes ("+key",
// "-key"). It gives the brokers that took it, also beside an error.
func (a *Admin) SetTopic(ctx context.Context, t Target, cfg *protocol.TopicConfig) ([]Broker, error) {
	if err := checkTopic(cfg); err != nil {
		return nil, err
	}
	masters, err := a.Masters(ctx, t)
	if err != nil {
		return nil, err
	}
	done, err := change("set topic "+cfg.TopicName, masters, func(b Broker) error { return a.setTopicAt(ctx, b.Addr, cfg) })
	a.awaitRoute(ctx, cfg, done)
	return done, err
}

const (
	routeWait = 3 * time.Second
	routeGap  = 10 * time.Millisecond
)

// awaitRoute waits until the name servers tell what the brokers took, which they are
// told beside the brokers' answers: whoever sends or asks next shall find it. When it
// takes too long the change is done nevertheless.
func (a *Admin) awaitRoute(ctx context.Context, cfg *protocol.TopicConfig, brokers []Broker) {
	ctx, cancel := context.WithTimeout(ctx, routeWait)
	defer cancel()
	for !a.routeTells(ctx, cfg, brokers) {
		select {
		case <-time.After(routeGap):
		case <-ctx.Done():
			return
		}
	}
}

func (a *Admin) routeTells(ctx context.Context, cfg *protocol.TopicConfig, brokers []Broker) bool {
	data, err := a.TopicRoute(ctx, cfg.TopicName)
	if err != nil {
		return len(brokers) == 0
	}
	for _, b := range brokers {
		i := slices.IndexFunc(data.QueueDatas, func(q protocol.QueueData) bool { return q.BrokerName == b.Name })
		if i < 0 {
			return false
		}
		q := data.QueueDatas[i]
		if q.ReadQueueNums != cfg.ReadQueueNums || q.WriteQueueNums != cfg.WriteQueueNums || q.Perm != cfg.Perm {
			return false
		}
	}
	return true
}

func checkTopic(cfg *protocol.TopicConfig) error {
	if err := protocol.CheckTopic(cfg.TopicName); err != nil {
		return err
	}
	switch {
	case cfg.ReadQueueNums < 1 || cfg.WriteQueueNums < 1:
		return fmt.Errorf("topic %s: %d queues to read and %d to write: a topic needs one of each at least",
			cfg.TopicName, cfg.ReadQueueNums, cfg.WriteQueueNums)
	case !protocol.ValidPerm(cfg.Perm):
		return fmt.Errorf("topic %s: permission %d: 2 is write, 4 read, 6 both", cfg.TopicName, cfg.Perm)
	}
	return nil
}

func (a *Admin) setTopicAt(ctx context.Context, addr string, cfg *protocol.TopicConfig) error {
	flag := cfg.TopicSysFlag
	_, err := a.ask(ctx, addr, &remoting.Command{
		Code: protocol.UpdateAndCreateTopic,
		Header: header.Of(&protocol.CreateTopicHeader{
			Topic: cfg.TopicName, DefaultTopic: protocol.TopicDefault,
			ReadQueueNums: cfg.ReadQueueNums, WriteQueueNums: cfg.WriteQueueNums, Perm: cfg.Perm,
			TopicFilterType: string(cmp.Or(cfg.TopicFilterType, protocol.SingleTag)),
			TopicSysFlag:    &flag, Order: cfg.Order, Attributes: attributeChanges(cfg.Attributes),
		}),
	})
	return err
}

// attributeChanges writes "+key=value,-key".
func attributeChanges(changes map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		if strings.HasPrefix(key, "-") {
			parts = append(parts, key)
			continue
		}
		parts = append(parts, key+"="+changes[key])
	}
	return strings.Join(parts, ",")
}

// DeleteTopic removes a topic from all masters of the target, and then from the name
// servers, which otherwise would tell of it until the brokers have registered again.
// ErrNoTopic when none of them has it.
func (a *Admin) DeleteTopic(ctx context.Context, t Target, topic string) ([]Broker, error) {
	if _, err := a.TopicRoute(ctx, topic); err != nil {
		return nil, err
	}
	masters, err := a.Masters(ctx, t)
	if err != nil {
		return nil, err
	}
	done, err := change("delete topic "+topic, masters, func(b Broker) error {
		_, err := a.ask(ctx, b.Addr, &remoting.Command{
			Code: protocol.DeleteTopicInBroker, Header: header.Of(&protocol.TopicHeader{Topic: topic}),
		})
		return err
	})
	if t.Broker != "" {
		return done, err // others may have it still
	}
	return done, errors.Join(err, a.deleteTopicInNameServers(ctx, topic, masters[0].Cluster))
}

// nameServer is an address, as a server of each.
type nameServer string

func (n nameServer) String() string { return "name server " + string(n) }

func (a *Admin) deleteTopicInNameServers(ctx context.Context, topic, cluster string) error {
	addrs, err := a.servers.All(ctx)
	if err != nil {
		return err
	}
	var servers []nameServer
	for _, addr := range addrs {
		servers = append(servers, nameServer(addr))
	}
	_, err = change("delete topic "+topic, servers, func(n nameServer) error {
		_, err := a.ask(ctx, string(n), &remoting.Command{
			Code:   protocol.DeleteTopicInNameServer,
			Header: header.Of(&protocol.DeleteTopicInNameServerRequest{Topic: topic, ClusterName: cluster}),
		})
		return err
	})
	return err
}

// TopicConfigs gives a topic's settings at each broker of its route.
func (a *Admin) TopicConfigs(ctx context.Context, topic string) (map[string]*protocol.TopicConfig, error) {
	masters, err := a.mastersOfTopic(ctx, topic)
	if err != nil {
		return nil, err
	}
	results, err := each("ask for topic "+topic, masters, func(b Broker) (*protocol.TopicConfig, error) {
		return a.topicConfigAt(ctx, b.Addr, topic)
	})
	configs := map[string]*protocol.TopicConfig{}
	for i, r := range results {
		if r != nil {
			configs[masters[i].Name] = r
		}
	}
	return configs, err
}

// topicConfigAt asks one broker. Brokers of 4.x can only tell of all topics at once.
func (a *Admin) topicConfigAt(ctx context.Context, addr, topic string) (*protocol.TopicConfig, error) {
	resp, err := a.ask(ctx, addr, &remoting.Command{
		Code: protocol.GetTopicConfig, Header: header.Of(&protocol.TopicHeader{Topic: topic}),
	})
	if err == nil {
		cfg, err := read[protocol.TopicConfigAndMapping](resp, "topic "+topic)
		if err != nil {
			return nil, err
		}
		return &cfg.TopicConfig, nil
	}
	if !isCode(err, protocol.RequestCodeNotSupported) {
		return nil, err
	}
	if resp, err = a.ask(ctx, addr, &remoting.Command{Code: protocol.GetAllTopicConfig}); err != nil {
		return nil, err
	}
	all, err := read[protocol.TopicConfigWrapper](resp, "the topics")
	if err != nil {
		return nil, err
	}
	if cfg := all.TopicConfigTable[topic]; cfg != nil {
		return cfg, nil
	}
	return nil, ErrNoTopic
}

// TopicStats gives the offsets and times of all queues of a topic. Beside an error are
// those of the brokers that answered.
func (a *Admin) TopicStats(ctx context.Context, topic string) (map[protocol.MessageQueue]protocol.TopicOffset, error) {
	masters, err := a.mastersOfTopic(ctx, topic)
	if err != nil {
		return nil, err
	}
	results, err := each("ask for the queues of topic "+topic, masters, func(b Broker) (*protocol.TopicStats, error) {
		resp, err := a.ask(ctx, b.Addr, &remoting.Command{
			Code: protocol.GetTopicStatsInfo, Header: header.Of(&protocol.TopicHeader{Topic: topic}),
		})
		if err != nil {
			return nil, err
		}
		return read[protocol.TopicStats](resp, "the queues of topic "+topic)
	})
	queues := map[protocol.MessageQueue]protocol.TopicOffset{}
	for _, r := range results {
		if r != nil {
			maps.Copy(queues, r.OffsetTable)
		}
	}
	return queues, err
}

// mastersOfTopic gives the masters of a topic's route, or where a broker has none the
// one that answers for it.
func (a *Admin) mastersOfTopic(ctx context.Context, topic string) ([]Broker, error) {
	data, err := a.TopicRoute(ctx, topic)
	if err != nil {
		return nil, err
	}
	var brokers []Broker
	for _, b := range route.New(topic, data).Brokers {
		if addr := b.Addr(protocol.MasterID); addr != "" {
			brokers = append(brokers, Broker{Cluster: b.Cluster, Name: b.Name, Addr: addr})
		}
	}
	if len(brokers) == 0 {
		return nil, fmt.Errorf("topic %s: no broker of it is there now", topic)
	}
	return brokers, nil
}

// TopicGroups gives the consumer groups of a topic, sorted: those that subscribe to it
// now and those with progress in it.
func (a *Admin) TopicGroups(ctx context.Context, topic string) ([]string, error) {
	masters, err := a.mastersOfTopic(ctx, topic)
	if err != nil {
		return nil, err
	}
	results, err := each("ask for the groups of topic "+topic, masters, func(b Broker) (*protocol.GroupList, error) {
		resp, err := a.ask(ctx, b.Addr, &remoting.Command{
			Code: protocol.QueryTopicConsumeByWho, Header: header.Of(&protocol.TopicHeader{Topic: topic}),
		})
		if err != nil {
			return nil, err
		}
		return read[protocol.GroupList](resp, "the groups of topic "+topic)
	})
	var groups []string
	for _, r := range results {
		if r != nil {
			groups = append(groups, r.GroupList...)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups), err
}
