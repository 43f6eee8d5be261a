// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// HEART_BEAT (34), UNREGISTER_CLIENT (35), CHECK_CLIENT_CONFIG (46).
//
// A heartbeat says which groups a client is in. It creates a consumer group that is missing, where groups come to be by
// use, and the group's retry topic. In its second form (5.1.3) it carries a fingerprint and may leave subscriptions out.

import (
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// heartbeatTopics makes retry topics.
type heartbeatTopics interface {
	Get(name string) *topic.Config
	EnsureRetry(group string, queues int32, order bool, sysFlag int32) *topic.Config
	Kept(c *topic.Config) bool
	Await(c *topic.Config) error
}

// heartbeatGroups finds or makes groups.
type heartbeatGroups interface {
	Find(name string) *group.Config
	Flush() error
}

// membership takes in who is connected.
type membership interface {
	Join(c group.Client, m group.Membership, now time.Time) (known bool)
	JoinProducer(c group.Client, group string, now time.Time)
	Leave(conn *remoting.Conn, group string)
	LeaveProducer(conn *remoting.Conn, group string)
}

// followsGroups registers the expressions that members subscribe with.
type followsGroups interface {
	Follow(group string)
}

// heartbeatHandler serves 34, 35 and 46. It waits for nothing, but a heartbeat that brings a new group is put off to a lane:
// it is answered when the group and its retry topic are on disk.
type heartbeatHandler struct {
	cfg         *config.Live[Config]
	topics      heartbeatTopics
	groups      heartbeatGroups
	members     membership
	filters     followsGroups
	expressions compiler
	lane        remoting.Handler // serves again, on a lane, what waits for the disk
}

func (h *heartbeatHandler) serveInline(x *remoting.Exchange) (*remoting.Command, error) {
	return h.beat(x, true)
}

func (h *heartbeatHandler) serveOnLane(x *remoting.Exchange) (*remoting.Command, error) {
	return h.beat(x, false)
}

func (h *heartbeatHandler) beat(x *remoting.Exchange, inline bool) (*remoting.Command, error) {
	var beat protocol.HeartbeatData
	if err := decodeBody(x, &beat); err != nil {
		return nil, err
	}
	if beat.ClientID == "" {
		return nil, protocol.Errorf(protocol.SystemError, "the heartbeat has no clientID")
	}
	cfg := h.cfg.Load()
	settings, news := h.ensure(cfg, &beat)
	if len(news) > 0 && inline {
		h.lane.ServeCommand(x)
		return nil, nil
	}
	client := group.Client{Conn: x.Conn, ID: beat.ClientID, Language: x.Request.Language, Version: x.Request.Version}
	known := beat.HeartbeatFingerprint != 0 // the first form is always asked for all
	for i, g := range settings {
		if g != nil && !h.join(cfg, client, &beat, &beat.ConsumerDataSet[i], g, x.Arrived) {
			known = false
		}
	}
	if cfg.Clients.RegisterProducer {
		for _, p := range beat.ProducerDataSet {
			if p.GroupName != "" {
				h.members.JoinProducer(client, p.GroupName, x.Arrived)
			}
		}
	}
	if err := h.settle(news); err != nil {
		return nil, err
	}
	return &remoting.Command{
		Code: protocol.Success, Header: header.Of(protocol.HeartbeatAnswer{SupportV2: true, SubChanged: !known}),
	}, nil
}

// ensure finds or makes the consumer groups of a heartbeat, and their retry topics, in memory: nil for those that are not
// taken in. news are the retry topics that are not on disk yet.
func (h *heartbeatHandler) ensure(cfg *Config, beat *protocol.HeartbeatData) (settings []*group.Config, news []*topic.Config) {
	settings = make([]*group.Config, len(beat.ConsumerDataSet))
	for i := range beat.ConsumerDataSet {
		c := &beat.ConsumerDataSet[i]
		if c.GroupName == "" || cfg.Groups.RejectPull && c.ConsumeType == protocol.ConsumeActively {
			continue
		}
		g := h.groups.Find(c.GroupName)
		if g == nil {
			continue // pulls tell the client that there is no such group
		}
		settings[i] = g
		ordered := slices.ContainsFunc(c.SubscriptionDataSet, func(s *protocol.SubscriptionData) bool {
			if s == nil {
				return false
			}
			t := h.topics.Get(s.Topic)
			return t != nil && t.Order
		})
		var flag int32
		if c.UnitMode {
			flag = protocol.TopicFlagUnitSub
		}
		if retry := h.topics.EnsureRetry(c.GroupName, g.RetryQueueNums, ordered, flag); !h.topics.Kept(retry) {
			news = append(news, retry)
		}
	}
	return settings, news
}

// settle waits until new groups and their retry topics are on disk. Heartbeats that wait at the same time share the syncs.
func (h *heartbeatHandler) settle(news []*topic.Config) error {
	if len(news) == 0 {
		return nil
	}
	for _, t := range news {
		if err := h.topics.Await(t); err != nil {
			return err
		}
	}
	return h.groups.Flush()
}

// join takes in one consumer group of a heartbeat; false when the client has to send its subscriptions again.
func (h *heartbeatHandler) join(cfg *Config, client group.Client, beat *protocol.HeartbeatData, c *protocol.ConsumerData, settings *group.Config, now time.Time) bool {
	subs := make([]*protocol.SubscriptionData, 0, len(c.SubscriptionDataSet))
	for _, s := range c.SubscriptionDataSet {
		if s != nil && s.Topic != "" {
			s.Complete()
			subs = append(subs, s)
		}
	}
	known := h.members.Join(client, group.Membership{
		Group: c.GroupName, Type: c.ConsumeType, Model: c.MessageModel, From: c.ConsumeFromWhere,
		Subscriptions: subs, Unchanged: beat.WithoutSub && beat.HeartbeatFingerprint != 0, Fingerprint: beat.HeartbeatFingerprint,
		Notify: settings.NotifyConsumerIDsChangedEnable && cfg.Groups.NotifyChange,
	}, now)
	h.filters.Follow(c.GroupName)
	return known
}

func (h *heartbeatHandler) leave(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.UnregisterClientHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	if req.ProducerGroup != "" {
		h.members.LeaveProducer(x.Conn, req.ProducerGroup)
	}
	if req.ConsumerGroup != "" {
		h.members.Leave(x.Conn, req.ConsumerGroup)
	}
	return okEmpty, nil
}

func (h *heartbeatHandler) checkConfig(x *remoting.Exchange) (*remoting.Command, error) {
	var check protocol.CheckClientBody
	if len(x.Request.Body) > 0 {
		if err := decodeBody(x, &check); err != nil {
			return nil, err
		}
	}
	s := check.SubscriptionData
	switch {
	case s == nil || protocol.IsTagExpression(s.ExpressionType):
		return okAnswer, nil
	case !h.cfg.Load().Filter.Properties:
		r := refuseExpression(s.ExpressionType)
		return nil, &r.Error
	case s.ExpressionType != protocol.ExpressionSQL92:
		return nil, protocol.Errorf(protocol.SubscriptionParseFailed, "unknown type of expression %q", s.ExpressionType)
	}
	if _, err := h.expressions.Compile(s.SubString); err != nil {
		return nil, protocol.Errorf(protocol.SubscriptionParseFailed, "the expression does not compile: %v", err)
	}
	return okAnswer, nil
}
