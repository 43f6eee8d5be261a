// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

const askTimeout = 10 * time.Second // for one question about brokers and topics

// brokerQueues is a broker with its part of the topic.
type brokerQueues struct {
	addr   string
	queues int // 0 to queues-1
}

// guide finds brokers and looks after the topic before the load begins.
type guide struct {
	target *Target
	client *remoting.Client
}

func newGuide(t *Target) *guide {
	return &guide{target: t, client: remoting.NewClient(nil, nil, clientConfig())}
}

func (g *guide) close() { _ = g.client.Close() }

func clientConfig() remoting.Config {
	c := remoting.DefaultConfig()
	c.Language = remoting.LanguageGo
	return c
}

// find gives the brokers of the topic, with the queues to read or to write. A
// topic that does not exist is created, on all masters that there are, when the
// load is to write.
func (g *guide) find(ctx context.Context, write bool) ([]brokerQueues, error) {
	if g.target.Broker != "" {
		return g.direct(ctx, write)
	}
	addrs, err := route.ParseAddresses(g.target.NameServers...)
	if err != nil {
		return nil, err
	}
	servers := route.NewNameServers(addrs, g.client, askTimeout)
	r, err := route.Ask(ctx, servers, g.target.Topic)
	switch {
	case err == nil:
		return g.ofRoute(r, write)
	case protocol.CodeOf(err) != protocol.TopicNotExist:
		return nil, err
	case !write:
		return nil, fmt.Errorf("topic %s does not exist", g.target.Topic)
	}
	masters, err := g.masters(ctx, servers)
	if err != nil {
		return nil, err
	}
	var out []brokerQueues
	for _, addr := range masters {
		if err := g.create(ctx, addr); err != nil {
			return nil, err
		}
		out = append(out, brokerQueues{addr, g.target.Queues})
	}
	return out, nil
}

// direct looks at the topic on the one broker given.
func (g *guide) direct(ctx context.Context, write bool) ([]brokerQueues, error) {
	addr := g.target.Broker
	resp, err := g.call(ctx, addr, &remoting.Command{
		Code: protocol.GetTopicConfig, Header: header.Of(&protocol.TopicHeader{Topic: g.target.Topic}),
	})
	if err != nil {
		return nil, err
	}
	if resp.Code == protocol.Success {
		var c protocol.TopicConfig
		if err := javajson.Unmarshal(resp.Body, &c); err != nil {
			return nil, fmt.Errorf("topic %s on %s: %w", g.target.Topic, addr, err)
		}
		q := brokerQueues{addr, int(c.ReadQueueNums)}
		if write {
			q.queues = int(c.WriteQueueNums)
		}
		return usable([]brokerQueues{q}, g.target.Topic)
	}
	// Not there; or a broker before 5.0, which cannot be asked for one topic and
	// takes the same settings again without a change.
	if !write && resp.Code == protocol.TopicNotExist {
		return nil, fmt.Errorf("topic %s does not exist on %s", g.target.Topic, addr)
	}
	if write {
		if err := g.create(ctx, addr); err != nil {
			return nil, err
		}
	}
	return []brokerQueues{{addr, g.target.Queues}}, nil
}

func (g *guide) ofRoute(r *protocol.TopicRouteData, write bool) ([]brokerQueues, error) {
	addrs := map[string]string{}
	for _, b := range r.BrokerDatas {
		addr := b.Master()
		if addr == "" && !write && len(b.BrokerAddrs) > 0 {
			addr = b.BrokerAddrs[slices.Min(slices.Collect(maps.Keys(b.BrokerAddrs)))]
		}
		addrs[b.BrokerName] = addr
	}
	var out []brokerQueues
	for _, q := range r.QueueDatas {
		b := brokerQueues{addrs[q.BrokerName], int(q.ReadQueueNums)}
		allowed := protocol.CanRead(q.Perm)
		if write {
			b.queues, allowed = int(q.WriteQueueNums), protocol.CanWrite(q.Perm)
		}
		if allowed && b.addr != "" {
			out = append(out, b)
		}
	}
	return usable(out, g.target.Topic)
}

func usable(all []brokerQueues, topic string) ([]brokerQueues, error) {
	all = slices.DeleteFunc(all, func(b brokerQueues) bool { return b.queues <= 0 })
	if len(all) == 0 {
		return nil, fmt.Errorf("topic %s has no queues that may be used", topic)
	}
	return all, nil
}

// masters lists the masters of all brokers.
func (g *guide) masters(ctx context.Context, servers *route.NameServers) ([]string, error) {
	resp, err := servers.Call(ctx, &remoting.Command{Code: protocol.GetBrokerClusterInfo})
	if err != nil {
		return nil, fmt.Errorf("ask for brokers: %w", err)
	}
	var info protocol.ClusterInfo
	if err := javajson.Unmarshal(resp.Body, &info); err != nil {
		return nil, fmt.Errorf("read the list of brokers: %w", err)
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(info.BrokerAddrTable)) {
		if addr := info.BrokerAddrTable[name].Master(); addr != "" {
			out = append(out, addr)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the name server knows no broker to create topic %s on", g.target.Topic)
	}
	return out, nil
}

func (g *guide) create(ctx context.Context, addr string) error {
	flag := int32(0)
	resp, err := g.call(ctx, addr, &remoting.Command{
		Code: protocol.UpdateAndCreateTopic,
		Header: header.Of(&protocol.CreateTopicHeader{
			Topic: g.target.Topic, DefaultTopic: protocol.TopicDefault, ReadQueueNums: int32(g.target.Queues),
			WriteQueueNums: int32(g.target.Queues), Perm: protocol.PermReadWrite, TopicFilterType: string(protocol.SingleTag), TopicSysFlag: &flag,
		}),
	})
	if err != nil {
		return err
	}
	if resp.Code != protocol.Success {
		return fmt.Errorf("create topic %s on %s: %w", g.target.Topic, addr, &protocol.Error{Code: resp.Code, Remark: resp.Remark})
	}
	return nil
}

// offset asks a broker for the first (or, for end, the next) offset of a queue.
func (g *guide) offset(ctx context.Context, addr string, queue int, end bool) (int64, error) {
	code := protocol.GetMinOffset
	if end {
		code = protocol.GetMaxOffset
	}
	resp, err := g.call(ctx, addr, &remoting.Command{
		Code: code, Header: header.Of(&protocol.QueueHeader{Topic: g.target.Topic, QueueID: int32(queue)}),
	})
	if err == nil && resp.Code != protocol.Success {
		err = &protocol.Error{Code: resp.Code, Remark: resp.Remark}
	}
	if err != nil {
		return 0, fmt.Errorf("offset of queue %d on %s: %w", queue, addr, err)
	}
	n, err := strconv.ParseInt(resp.Fields.Text("offset"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("offset of queue %d on %s: %w", queue, addr, err)
	}
	return n, nil
}

func (g *guide) call(ctx context.Context, addr string, req *remoting.Command) (*remoting.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := g.client.Call(ctx, addr, req)
	if err != nil {
		return nil, fmt.Errorf("ask broker %s: %w", addr, err)
	}
	return resp, nil
}
