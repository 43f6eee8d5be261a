// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Who is connected: GET_CONSUMER_LIST_BY_GROUP (38), GET_CONSUMER_CONNECTION_LIST (203), GET_PRODUCER_CONNECTION_LIST
// (204), GET_ALL_PRODUCER_INFO (328); and who consumes what: QUERY_TOPIC_CONSUME_BY_WHO (300), QUERY_TOPICS_BY_CONSUMER
// (343), QUERY_SUBSCRIPTION_BY_CONSUMER (345).

import (
	"slices"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// whoIsThere tells who is connected.
type whoIsThere interface {
	Consumers(group string) *group.Consumers
	GroupsOf(topic string) []string
	Producers(group string) []group.Producer
	AllProducers() map[string][]group.Producer
}

// whoConsumed tells whose progress is known.
type whoConsumed interface {
	TopicsOf(group string) []string
	GroupsOf(topic string) []string
}

// membersHandler serves the codes above.
type membersHandler struct {
	cfg     *config.Live[Config]
	members whoIsThere
	offsets whoConsumed
}

func (h *membersHandler) list(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.ConsumerGroupHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	consumers := h.members.Consumers(req.ConsumerGroup)
	if consumers == nil {
		return refusal(protocol.SystemError, "no consumer for this group, "+req.ConsumerGroup), nil
	}
	answer := jsonAnswer(protocol.ConsumerIDList{ConsumerIDList: consumers.ClientIDs()})
	answer.EmptyFields = true
	return answer, nil
}

func (h *membersHandler) consumers(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.ConsumerGroupHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	consumers := h.members.Consumers(req.ConsumerGroup)
	if consumers == nil {
		return nil, protocol.Errorf(protocol.ConsumerNotOnline, "the consumer group[%s] not online", req.ConsumerGroup)
	}
	body := protocol.ConsumerConnection{
		ConnectionSet:    make([]protocol.Connection, 0, len(consumers.Members)),
		ConsumeFromWhere: consumers.From, ConsumeType: consumers.Type, MessageModel: consumers.Model,
		SubscriptionTable: consumers.Subscriptions,
	}
	for _, m := range consumers.Members {
		body.ConnectionSet = append(body.ConnectionSet, connection(m))
	}
	return jsonAnswer(body), nil
}

func connection(c group.Client) protocol.Connection {
	return protocol.Connection{ClientAddr: c.Conn.RemoteAddr(), ClientID: c.ID, Language: c.Language.String(), Version: c.Version}
}

func (h *membersHandler) producers(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.ProducerGroupHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	list := h.members.Producers(req.ProducerGroup)
	if len(list) == 0 {
		return nil, protocol.Errorf(protocol.SystemError, "the producer group[%s] not exist", req.ProducerGroup)
	}
	body := protocol.ProducerConnection{ConnectionSet: make([]protocol.Connection, 0, len(list))}
	for _, p := range list {
		body.ConnectionSet = append(body.ConnectionSet, connection(p.Client))
	}
	return jsonAnswer(body), nil
}

func (h *membersHandler) allProducers(*remoting.Exchange) (*remoting.Command, error) {
	body := protocol.ProducerTable{Data: map[string][]protocol.ProducerInfo{}}
	for name, list := range h.members.AllProducers() {
		for _, p := range list {
			body.Data[name] = append(body.Data[name], protocol.ProducerInfo{
				ClientID: p.ID, Language: p.Language.String(), LastUpdateTimestamp: p.Seen.UnixMilli(),
				RemoteIP: "/" + p.Conn.RemoteAddr(), Version: p.Version,
			})
		}
	}
	return jsonAnswer(body), nil
}

func (h *membersHandler) groupsOfTopic(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.TopicHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	groups := append(h.members.GroupsOf(req.Topic), h.offsets.GroupsOf(req.Topic)...)
	slices.Sort(groups)
	groups = slices.Compact(groups)
	if groups == nil {
		groups = []string{}
	}
	return jsonAnswer(protocol.GroupList{GroupList: groups}), nil
}

func (h *membersHandler) topicsOfGroup(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.GroupHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	topics := h.offsets.TopicsOf(req.Group)
	if topics == nil {
		topics = []string{}
	}
	return jsonAnswer(protocol.TopicList{BrokerAddr: h.cfg.Load().Identity.addr(), TopicList: topics}), nil
}

func (h *membersHandler) subscription(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.GroupTopicHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	body := protocol.SubscriptionOfGroup{Group: req.Group, Topic: req.Topic}
	if consumers := h.members.Consumers(req.Group); consumers != nil {
		body.SubscriptionData = consumers.Subscriptions[req.Topic]
	}
	return jsonAnswer(body), nil
}
