// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"slices"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/filter"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// pullRefusal is a pull that is not served.
type pullRefusal struct {
	protocol.Error
	forbidden int32 // what forbids it; 0: nothing does
}

func (r *pullRefusal) command() *remoting.Command {
	return &remoting.Command{Code: r.Code, Remark: r.Remark, Header: &protocol.PullResponse{Refused: true, Forbidden: r.forbidden}, EmptyFields: true}
}

func refusePull(code int32, format string, a ...any) *pullRefusal {
	return &pullRefusal{Error: *protocol.Errorf(code, format, a...)}
}

func forbidPull(what int32, format string, a ...any) *pullRefusal {
	return &pullRefusal{Error: *protocol.Errorf(protocol.NoPermission, format, a...), forbidden: what}
}

// check refuses what may not be pulled, in RocketMQ's order, and sets the topic, group, filter and read of p.
func (h *pullHandler) check(p *pulling, cfg *Config, x *remoting.Exchange) *pullRefusal {
	if !protocol.CanRead(cfg.Identity.Perm) {
		return forbidPull(protocol.ForbiddenBroker, "the broker[%s] pulling message is forbidden", cfg.Identity.IP)
	}
	if x.Request.Code == protocol.LitePullMessage && !cfg.Pull.LitePull {
		return forbidPull(protocol.ForbiddenBroker, "the broker[%s] for lite pull consumer is forbidden", cfg.Identity.IP)
	}
	p.group, p.topic = h.groups.FindBytes(p.req.Group), nil
	if p.group != nil && p.group.ConsumeEnable {
		p.topic = h.topics.GetBytes(p.req.Topic)
	}
	if refusal := readable(p, p.req.Group, p.req.Topic); refusal != nil {
		return refusal
	}
	if p.req.QueueID < 0 || p.req.QueueID >= p.topic.ReadQueueNums {
		return refusePull(protocol.InvalidParameter, "queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[%s]",
			p.req.QueueID, p.req.Topic, p.topic.ReadQueueNums, x.Conn.RemoteAddr())
	}
	consumers := h.members.ConsumersBytes(p.req.Group)
	if refusal := h.subscription(p, cfg, consumers); refusal != nil {
		return refusal
	}
	if cfg.Groups.RejectPull && !isMember(consumers, x.Conn) && !protocol.IsPredefinedGroup(p.group.GroupName) {
		return groupOffline()
	}
	if cfg.Offsets.Broadcast {
		h.findPuller(p, consumers, x.Conn)
	}
	p.read = store.ReadRequest{
		Topic: p.topic.TopicName, QueueID: p.req.QueueID, Offset: p.req.QueueOffset, MaxCount: int(p.req.MaxMessages),
	}
	if !p.filter.WantsAll() {
		p.read.Filter = &p.filter
	}
	return nil
}

// readable refuses a group or topic that is not there or may not be used.
func readable[T string | []byte](p *pulling, group, topic T) *pullRefusal {
	switch {
	case p.group == nil:
		return refusePull(protocol.SubscriptionGroupNotExist, "subscription group [%s] does not exist, %s", group, helpSuffix)
	case !p.group.ConsumeEnable:
		return forbidPull(protocol.ForbiddenGroup, "subscription group no permission, %s", group)
	case p.topic == nil:
		return refusePull(protocol.TopicNotExist, "topic[%s] not exist, apply first please!%s", topic, helpSuffix)
	case !protocol.CanRead(p.topic.Perm):
		return forbidPull(protocol.ForbiddenTopic, "the topic[%s] pulling message is forbidden", topic)
	}
	return nil
}

// mayStillRead repeats, for a held pull, the checks whose outcome can have changed.
func (h *pullHandler) mayStillRead(p *pulling, held *heldPull, cfg *Config) *pullRefusal {
	if !protocol.CanRead(cfg.Identity.Perm) {
		return forbidPull(protocol.ForbiddenBroker, "the broker[%s] pulling message is forbidden", cfg.Identity.IP)
	}
	if refusal := readable(p, held.group, held.Topic); refusal != nil {
		return refusal
	}
	if held.filter.NeedsProperties() && !cfg.Filter.Properties {
		return refuseExpression(protocol.ExpressionSQL92)
	}
	return nil
}

// isMember tells whether the connection's client is in the group; of a push group's clients it need not be.
func isMember(consumers *group.Consumers, conn *remoting.Conn) bool {
	return consumers != nil && (consumers.Type != protocol.ConsumeActively ||
		slices.ContainsFunc(consumers.Members, func(c group.Client) bool { return c.Conn == conn }))
}

func groupOffline() *pullRefusal {
	return refusePull(protocol.SubscriptionNotExist, "the consumer's group info not exist%s", helpSuffix)
}

// subscription finds which messages are wanted: what the request says, or what the group's heartbeats said.
func (h *pullHandler) subscription(p *pulling, cfg *Config, consumers *group.Consumers) *pullRefusal {
	if p.req.SysFlag&protocol.PullSubscription != 0 {
		return h.ownSubscription(p, cfg)
	}
	if consumers == nil {
		return groupOffline()
	}
	group, topic := p.group.GroupName, p.topic.TopicName
	sub := consumers.Subscription(p.req.Topic)
	switch {
	case !p.group.ConsumeBroadcastEnable && consumers.Model == protocol.Broadcasting:
		return forbidPull(protocol.ForbiddenBroadcast, "the consumer group[%s] can not consume by broadcast way", group)
	case !h.groups.Readable(p.req.Group, p.req.Topic):
		return forbidPull(protocol.ForbiddenSubscription, "the consumer group[%s] is forbidden for topic[%s]", group, topic)
	case sub == nil:
		return refusePull(protocol.SubscriptionNotExist, "the consumer's subscription not exist%s", helpSuffix)
	case sub.SubVersion < p.req.SubVersion:
		return refusePull(protocol.SubscriptionNotLatest, "the consumer's subscription not latest")
	}
	if !protocol.IsTagExpression(sub.ExpressionType) {
		return h.registeredFilter(p, cfg, sub)
	}
	p.filter = tagFilter(sub)
	return nil
}

// registeredFilter takes the expression that the group's heartbeats brought.
func (h *pullHandler) registeredFilter(p *pulling, cfg *Config, sub *protocol.SubscriptionData) *pullRefusal {
	registered := h.filters.Get(p.topic.TopicName, p.group.GroupName)
	switch {
	case registered == nil:
		return refusePull(protocol.FilterDataNotExist, "The broker's consumer filter data is not exist!Your expression may be wrong!")
	case registered.Version < p.req.SubVersion:
		return refusePull(protocol.FilterDataNotLatest, "the consumer's consumer filter data not latest")
	case !cfg.Filter.Properties:
		return refuseExpression(sub.ExpressionType)
	}
	p.filter = h.sqlFilter(p, cfg, registered.Compiled)
	p.filter.registered = registered
	return nil
}

// ownSubscription takes the subscription from the request.
func (h *pullHandler) ownSubscription(p *pulling, cfg *Config) *pullRefusal {
	if kind := p.req.ExpressionType; len(kind) != 0 && string(kind) != protocol.ExpressionTag {
		if !cfg.Filter.Properties || string(kind) != protocol.ExpressionSQL92 {
			return refuseExpression(string(kind))
		}
		expr, err := h.expressions.CompileBytes(p.req.Subscription)
		if err != nil {
			return refusePull(protocol.SubscriptionParseFailed, "parse the consumer's subscription failed: %v", err)
		}
		p.filter = h.sqlFilter(p, cfg, expr)
		return nil
	}
	if e := p.req.Subscription; len(e) == 0 || string(e) == protocol.SubscribeAll {
		p.filter = pullFilter{Filter: filter.All()}
		return nil
	}
	sub, err := protocol.ParseTagExpression(p.topic.TopicName, string(p.req.Subscription))
	if err != nil {
		return refusePull(protocol.SubscriptionParseFailed, "parse the consumer's subscription failed")
	}
	p.filter = tagFilter(sub)
	return nil
}

func refuseExpression(kind string) *pullRefusal {
	return refusePull(protocol.SystemError, "The broker does not support consumer to filter message by %s", kind)
}
