// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// HEART_BEAT (34), UNREGISTER_CLIENT (35), CHECK_CLIENT_CONFIG (46).
//
// A heartbeat says which groups a client is in. It creates a consumer group that is missing, where groups come to be by
// use, and the group's retry topic. In its second form (5.1.3) it carries a fingerprint and may leave subscriptions out.
//
// Not done: SQL92 expressions (46 refuses them, like pulls).

import (
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
}

// heartbeatGroups finds or makes groups.
type heartbeatGroups interface {
	Find(name string) *group.Config
}

// membership takes in who is connected.
type membership interface {
	Join(c group.Client, m group.Membership, now time.Time) (known bool)
	JoinProducer(c group.Client, group string, now time.Time)
	Leave(conn *remoting.Conn, group string)
	LeaveProducer(conn *remoting.Conn, group string)
}

// heartbeatHandler serves 34, 35 and 46. It waits for nothing.
type heartbeatHandler struct {
	cfg     *config.Live[Config]
	topics  heartbeatTopics
	groups  heartbeatGroups
	members membership
}

func (h *heartbeatHandler) beat(x *remoting.Exchange) (*remoting.Command, error) {
	var beat protocol.HeartbeatData
	if err := decodeBody(x, &beat); err != nil {
		return nil, err
	}
	if beat.ClientID == "" {
		return nil, protocol.Errorf(protocol.SystemError, "the heartbeat has no clientID")
	}
	cfg := h.cfg.Load()
	client := group.Client{Conn: x.Conn, ID: beat.ClientID, Language: x.Request.Language, Version: x.Request.Version}
	known := beat.HeartbeatFingerprint != 0 // the first form is always asked for all
	for i := range beat.ConsumerDataSet {
		if !h.join(cfg, client, &beat, &beat.ConsumerDataSet[i], x.Arrived) {
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
	return &remoting.Command{
		Code: protocol.Success, Header: header.Of(protocol.HeartbeatAnswer{SupportV2: true, SubChanged: !known}),
	}, nil
}

// join takes in one consumer group of a heartbeat; false when the client has to send its subscriptions again.
func (h *heartbeatHandler) join(cfg *Config, client group.Client, beat *protocol.HeartbeatData, c *protocol.ConsumerData, now time.Time) bool {
	if c.GroupName == "" || cfg.Groups.RejectPull && c.ConsumeType == protocol.ConsumeActively {
		return true
	}
	settings := h.groups.Find(c.GroupName)
	if settings == nil {
		return true // pulls tell the client that there is no such group
	}
	subs := make([]*protocol.SubscriptionData, 0, len(c.SubscriptionDataSet))
	ordered := false
	for _, s := range c.SubscriptionDataSet {
		if s == nil || s.Topic == "" {
			continue
		}
		s.Complete()
		subs = append(subs, s)
		if t := h.topics.Get(s.Topic); t != nil && t.Order {
			ordered = true
		}
	}
	var flag int32
	if c.UnitMode {
		flag = protocol.TopicFlagUnitSub
	}
	h.topics.EnsureRetry(c.GroupName, settings.RetryQueueNums, ordered, flag)
	return h.members.Join(client, group.Membership{
		Group: c.GroupName, Type: c.ConsumeType, Model: c.MessageModel, From: c.ConsumeFromWhere,
		Subscriptions: subs, Unchanged: beat.WithoutSub && beat.HeartbeatFingerprint != 0, Fingerprint: beat.HeartbeatFingerprint,
		Notify: settings.NotifyConsumerIDsChangedEnable && cfg.Groups.NotifyChange,
	}, now)
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
	if s := check.SubscriptionData; s != nil && !protocol.IsTagExpression(s.ExpressionType) {
		r := refuseExpression(s.ExpressionType)
		return nil, &r.Error
	}
	return okAnswer, nil
}
