// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Queues divided by the broker: QUERY_ASSIGNMENT (400), SET_MESSAGE_REQUEST_MODE (401), GET_ALL_MESSAGE_REQUEST_MODE (402).
// Clients that are told to let the broker divide ask here, one topic at a time, every 20 s.
//
// Not done: serverLoadBalancerEnable, defaultMessageRequestMode, defaultPopShareQueueNum (on, PULL and -1), popping itself.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/assign"
	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

// The parts that are asked.
type (
	assignTopics interface {
		Get(name string) *topic.Config
	}
	assignGroups interface {
		Get(name string) *group.Config
	}
	assignMembers interface {
		Consumers(group string) *group.Consumers
	}
	assignModes interface {
		Get(topic, group string) *protocol.MessageRequestMode
		All() map[string]map[string]*protocol.MessageRequestMode
		Set(mode protocol.MessageRequestMode) error
	}
	assignQueues interface {
		Of(ctx context.Context, topic string) ([]protocol.MessageQueue, error)
	}
)

// assignHandler serves the codes above, on a lane: name servers may have to be asked.
type assignHandler struct {
	topics  assignTopics
	groups  assignGroups
	members assignMembers
	modes   assignModes
	queues  assignQueues
}

// routeTimeout bounds how long a client waits for the name servers.
const routeTimeout = 3 * time.Second

func (h *assignHandler) query(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.QueryAssignmentBody
	if err := decodeBody(x, &req); err != nil {
		return nil, err
	}
	mode := h.modes.Get(req.Topic, req.ConsumerGroup)
	if mode == nil {
		mode = &protocol.MessageRequestMode{Mode: protocol.ModePull}
	}
	ctx, cancel := context.WithTimeout(context.Background(), routeTimeout)
	defer cancel()
	queues, err := h.queues.Of(ctx, req.Topic)
	if err != nil || len(queues) == 0 {
		return jsonAnswer(protocol.QueueAssignments{}), nil // no result: the client keeps what it has
	}
	if req.MessageModel != protocol.Broadcasting {
		strategy, ok := assign.ByName(req.StrategyName)
		consumers := h.members.Consumers(req.ConsumerGroup)
		if !ok || consumers == nil || req.ClientID == "" {
			return jsonAnswer(protocol.QueueAssignments{}), nil
		}
		queues = share(strategy, mode, req.ClientID, queues, consumers.ClientIDs())
	}
	body := protocol.QueueAssignments{MessageQueueAssignments: []protocol.QueueAssignment{}}
	for _, q := range queues {
		body.MessageQueueAssignments = append(body.MessageQueueAssignments, protocol.QueueAssignment{MessageQueue: q, Mode: mode.Mode})
	}
	return jsonAnswer(body), nil
}

// anyQueue is the queue id that means "pop from all queues of that broker".
const anyQueue = -1

// share gives the queues that fall to a member. Who pops shares queues with others: with all, or with the members that
// follow it (RocketMQ: QueryAssignmentProcessor.allocate4Pop).
func share(strategy assign.Strategy, mode *protocol.MessageRequestMode, self string, queues []protocol.MessageQueue, members []string) []protocol.MessageQueue {
	assign.Sort(queues, members)
	if mode.Mode != protocol.ModePop {
		return strategy.Share(self, queues, members)
	}
	with := int(mode.PopShareQueueNum)
	if with <= 0 || with >= len(members)-1 {
		var all []protocol.MessageQueue
		for _, q := range queues {
			q.QueueID = anyQueue
			if !slices.Contains(all, q) {
				all = append(all, q)
			}
		}
		return all
	}
	at := slices.Index(members, self)
	switch {
	case at < 0:
		return nil
	case len(members) > len(queues): // so that each has one
		return []protocol.MessageQueue{queues[at%len(queues)]}
	}
	var mine []protocol.MessageQueue
	for i := range with + 1 {
		mine = append(mine, strategy.Share(members[(at+i)%len(members)], queues, members)...)
	}
	return mine
}

func (h *assignHandler) setMode(x *remoting.Exchange) (*remoting.Command, error) {
	var mode protocol.MessageRequestMode
	if err := decodeBody(x, &mode); err != nil {
		return nil, err
	}
	switch {
	case protocol.IsRetryTopic(mode.Topic):
		return nil, protocol.Errorf(protocol.NoPermission, "retry topic is not allowed to set mode")
	case h.topics.Get(mode.Topic) == nil:
		return nil, protocol.Errorf(protocol.TopicNotExist, "topic[%s] not exist", mode.Topic)
	case h.groups.Get(mode.ConsumerGroup) == nil:
		return nil, protocol.Errorf(protocol.SubscriptionGroupNotExist, "subscription group [%s] does not exist", mode.ConsumerGroup)
	case mode.Mode != protocol.ModePull && mode.Mode != protocol.ModePop:
		return nil, protocol.Errorf(protocol.InvalidParameter, "mode [%s] is neither PULL nor POP", mode.Mode)
	}
	if err := h.modes.Set(mode); err != nil {
		return nil, err
	}
	return okAnswer, nil
}

func (h *assignHandler) allModes(*remoting.Exchange) (*remoting.Command, error) {
	all := h.modes.All()
	if all == nil {
		all = map[string]map[string]*protocol.MessageRequestMode{}
	}
	return jsonAnswer(protocol.MessageRequestModes{MessageRequestModeMap: all}), nil
}

// readQueues tells which queues of a topic can be read, at all brokers, as the name servers say. What it was told is good
// for a while, and for longer when nobody answers.
type readQueues struct {
	cfg    *config.Live[Config]
	topics assignTopics
	caller route.Caller

	mu    sync.Mutex
	known map[string]knownQueues
}

type knownQueues struct {
	queues []protocol.MessageQueue
	asked  time.Time
}

// How long an answer is used, and kept for the case that none comes.
const (
	routeFresh  = 10 * time.Second
	routeKept   = 10 * time.Minute
	routesKnown = 10_000 // topics; then all are asked for anew
)

// Of gives the queues of a topic; the caller may sort them.
func (r *readQueues) Of(ctx context.Context, topic string) ([]protocol.MessageQueue, error) {
	cfg := r.cfg.Load()
	if len(cfg.Names.Addrs) == 0 || cfg.Store.Light.Enable && protocol.IsLMQ(topic) { // name servers do not know light topics
		return r.own(cfg, topic), nil
	}
	r.mu.Lock()
	known, ok := r.known[topic]
	r.mu.Unlock()
	if ok && time.Since(known.asked) < routeFresh {
		return slices.Clone(known.queues), nil
	}
	servers := route.NewNameServers(route.Addresses{Fixed: cfg.Names.Addrs}, r.caller, routeTimeout)
	data, err := route.Ask(ctx, servers, topic)
	switch {
	case protocol.CodeOf(err) == protocol.TopicNotExist:
		r.forget(topic)
		return nil, nil
	case err != nil && ok && time.Since(known.asked) < routeKept:
		return slices.Clone(known.queues), nil
	case err != nil:
		return nil, fmt.Errorf("queues of topic %s: %w", topic, err)
	}
	queues := route.New(topic, data).Read
	r.keep(topic, queues)
	return slices.Clone(queues), nil
}

// own gives this broker's queues, where there is no name server to know of others.
func (r *readQueues) own(cfg *Config, topic string) []protocol.MessageQueue {
	t := r.topics.Get(topic)
	if t == nil || !protocol.CanRead(t.Perm) {
		return nil
	}
	var queues []protocol.MessageQueue
	for q := range listed(t.ReadQueueNums) {
		queues = append(queues, protocol.MessageQueue{BrokerName: cfg.Identity.Name, QueueID: q, Topic: topic})
	}
	return queues
}

func (r *readQueues) keep(topic string, queues []protocol.MessageQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= routesKnown {
		r.known = map[string]knownQueues{}
	}
	r.known[topic] = knownQueues{queues, time.Now()}
}

func (r *readQueues) forget(topic string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, topic)
}
