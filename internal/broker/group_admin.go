// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Consumer groups as administrators and slaves see them: UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200),
// UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST (225), GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201), DELETE_SUBSCRIPTIONGROUP (207),
// GET_SUBSCRIPTIONGROUP_CONFIG (352), UPDATE_AND_GET_GROUP_FORBIDDEN (353).

import (
	"fmt"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/offset"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// adminGroups is the table of groups.
type adminGroups interface {
	Get(name string) *group.Config
	Update(list ...*group.Config) error
	Delete(name string) (bool, error)
	Page(first, max int, known *protocol.DataVersion) (protocol.DataVersion, []*group.Config, int)
	Forbidden() map[string]map[string]int32
	Readable(group, topic []byte) bool
	SetReadable(group, topic string, readable bool) error
}

// groupProgress and groupCounters are what is known of a group beside its settings.
type (
	groupProgress interface {
		RemoveGroup(group string) bool
		Flush() error
	}
	groupCounters interface{ RemoveGroup(group string) }
	// retryTopics are what groups get again.
	retryTopics interface {
		Get(name string) *topic.Config
		EnsureRetry(group string, queues int32, order bool, sysFlag int32) *topic.Config
		Await(c *topic.Config) error
	}
)

// groupHandler serves the codes above, on the admin lane: changes wait for the disk.
type groupHandler struct {
	cfg       *config.Live[Config]
	groups    adminGroups
	topics    retryTopics
	offsets   groupProgress
	broadcast groupCounters // follows clients in broadcasting mode
	stats     groupCounters
}

func (h *groupHandler) update(x *remoting.Exchange) (*remoting.Command, error) {
	c := new(protocol.SubscriptionGroupConfig)
	if err := decodeBody(x, c); err != nil {
		return nil, err
	}
	return h.apply([]*protocol.SubscriptionGroupConfig{c})
}

func (h *groupHandler) updateList(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.SubscriptionGroupListBody
	if err := decodeBody(x, &req); err != nil {
		return nil, err
	}
	return h.apply(req.GroupConfigList)
}

func (h *groupHandler) apply(list []*protocol.SubscriptionGroupConfig) (*remoting.Command, error) {
	if err := refuseOnSlave(h.cfg.Load()); err != nil {
		return nil, err
	}
	for _, c := range list {
		if c == nil {
			return nil, protocol.CheckGroup("")
		}
		if err := protocol.CheckGroup(c.GroupName); err != nil {
			return nil, err
		}
	}
	if len(list) > 0 {
		if err := h.groups.Update(list...); err != nil {
			return nil, err
		}
	}
	return okAnswer, h.growRetries(list)
}

// growRetries gives retry topics the queues that their groups want now: what comes back is spread over so many.
func (h *groupHandler) growRetries(list []*protocol.SubscriptionGroupConfig) error {
	for _, c := range list {
		if have := h.topics.Get(protocol.RetryTopic(c.GroupName)); have != nil {
			if err := h.topics.Await(h.topics.EnsureRetry(c.GroupName, c.RetryQueueNums, have.Order, have.TopicSysFlag)); err != nil {
				return err
			}
		}
	}
	return nil
}

// get shows a group. It never creates one: looking is not using (RocketMQ creates it where groups come to be by use).
func (h *groupHandler) get(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.GroupHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	c := h.groups.Get(req.Group)
	if c == nil {
		return nil, protocol.Errorf(protocol.SubscriptionGroupNotExist, "No group in this broker")
	}
	return jsonAnswer(c), nil
}

func (h *groupHandler) all(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.AllGroupConfigHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	page, err := h.cfg.Load().Topics.page(req.GroupSeq, req.MaxGroupNum, req.DataVersion)
	if err != nil {
		return nil, err
	}
	version, part, total := h.groups.Page(page.first, page.size, page.known)
	body := protocol.SubscriptionGroupWrapper{
		DataVersion: version, ForbiddenTable: h.groups.Forbidden(),
		SubscriptionGroupTable: make(map[string]*protocol.SubscriptionGroupConfig, len(part)),
	}
	for _, c := range part {
		body.SubscriptionGroupTable[c.GroupName] = c
	}
	answer := jsonAnswer(body)
	answer.Header = header.Of(protocol.AllGroupConfigAnswer{TotalGroupNum: int32(total)})
	return answer, nil
}

// remove deletes a group's settings, with cleanOffset also its progress. Its retry and dead-letter topics stay: tools
// delete them with requests of their own. Unlike in RocketMQ the group does not come back by being deleted.
func (h *groupHandler) remove(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.DeleteGroupHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	if err := refuseOnSlave(h.cfg.Load()); err != nil {
		return nil, err
	}
	if _, err := h.groups.Delete(req.GroupName); err != nil {
		return nil, err
	}
	h.stats.RemoveGroup(req.GroupName)
	if !req.CleanOffset && !req.RemoveOffset {
		return okAnswer, nil
	}
	h.broadcast.RemoveGroup(req.GroupName)
	own, broadcast := h.offsets.RemoveGroup(req.GroupName), h.offsets.RemoveGroup(offset.BroadcastGroup(req.GroupName))
	if own || broadcast {
		if err := h.offsets.Flush(); err != nil {
			return nil, fmt.Errorf("forget the progress of group %s: %w", req.GroupName, err)
		}
	}
	return okAnswer, nil
}

func (h *groupHandler) forbidden(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.GroupForbiddenHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	if req.Readable != nil {
		if err := h.groups.SetReadable(req.Group, req.Topic, *req.Readable); err != nil {
			return nil, err
		}
	}
	return jsonAnswer(protocol.GroupForbidden{
		Group: req.Group, Topic: req.Topic, Readable: h.groups.Readable([]byte(req.Group), []byte(req.Topic)),
	}), nil
}
