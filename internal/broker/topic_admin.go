// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Topics as administrators and slaves see them: UPDATE_AND_CREATE_TOPIC (17), UPDATE_AND_CREATE_TOPIC_LIST (18),
// GET_ALL_TOPIC_CONFIG (21), DELETE_TOPIC_IN_BROKER (215), GET_SYSTEM_TOPIC_LIST_FROM_BROKER (305), GET_TOPIC_CONFIG (351).
//
// Not done: static topics (513, mappings are always empty).

import (
	"fmt"

	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// adminTopics is the table of topics.
type adminTopics interface {
	Get(name string) *topic.Config
	IsSystem(name string) bool
	SystemNames() []string
	Update(c *protocol.TopicConfig, changes topic.Changes) (changed bool, err error)
	Delete(names ...string) (deleted []string, err error)
	All() (protocol.DataVersion, []*topic.Config)
	Page(first, max int, known *protocol.DataVersion) (protocol.DataVersion, []*topic.Config, int)
}

// topicProgress is what groups have read of topics.
type topicProgress interface {
	GroupsOf(topic string) []string
	RemoveTopic(topic string) bool
	Flush() error
}

// topicQueues are a topic's queues on disk.
type topicQueues interface {
	DeleteTopic(topic string) error
}

// topicCounters are what was counted for a topic.
type topicCounters interface {
	RemoveTopic(topic string)
}

// topicHandler serves the codes above, on the admin lane: changes wait for the disk.
type topicHandler struct {
	cfg     *config.Live[Config]
	topics  adminTopics
	offsets topicProgress
	store   topicQueues
	stats   topicCounters
	// broadcast follows clients in broadcasting mode.
	broadcast interface{ RemoveTopic(topic string) }
}

// refuseOnSlave keeps settings from being changed where the master's would overwrite them.
func refuseOnSlave(cfg *Config) error {
	if cfg.Identity.ID != protocol.MasterID {
		return protocol.Errorf(protocol.SystemError, "Can't modify topic or subscription group from slave broker, please execute it from master broker.")
	}
	return nil
}

func (h *topicHandler) update(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.CreateTopicHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	changes, err := topic.ParseChanges(req.Attributes)
	if err != nil {
		return nil, protocol.Errorf(protocol.SystemError, "%v", err)
	}
	c := &protocol.TopicConfig{
		TopicName: req.Topic, ReadQueueNums: req.ReadQueueNums, WriteQueueNums: req.WriteQueueNums, Perm: req.Perm,
		TopicFilterType: protocol.TopicFilterType(req.TopicFilterType), Order: req.Order,
	}
	if req.TopicSysFlag != nil {
		c.TopicSysFlag = *req.TopicSysFlag
	}
	if err := h.apply(c, changes); err != nil {
		return nil, err
	}
	return okAnswer, nil
}

// updateList changes several topics. All names are checked before any topic is changed; one that needs no change does not
// end the list, as it does in RocketMQ.
func (h *topicHandler) updateList(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.CreateTopicListBody
	if err := decodeBody(x, &req); err != nil {
		return nil, err
	}
	for _, c := range req.TopicConfigList {
		if c == nil {
			return nil, protocol.Errorf(protocol.InvalidParameter, "The specified topic is blank.")
		}
		if err := h.check(c.TopicName); err != nil {
			return nil, err
		}
	}
	for _, c := range req.TopicConfigList {
		changes := topic.Changes(c.Attributes)
		c.Attributes = nil
		if err := h.apply(c, changes); err != nil {
			return nil, err
		}
	}
	return okAnswer, nil
}

// check refuses names that administrators may not use.
func (h *topicHandler) check(name string) error {
	if err := protocol.CheckTopic(name); err != nil {
		return err
	}
	if h.cfg.Load().Topics.ValidateSystem && h.topics.IsSystem(name) {
		return protocol.SystemTopicConflict(name)
	}
	return nil
}

func (h *topicHandler) apply(c *protocol.TopicConfig, changes topic.Changes) error {
	if err := refuseOnSlave(h.cfg.Load()); err != nil {
		return err
	}
	if err := h.check(c.TopicName); err != nil {
		return err
	}
	switch c.TopicFilterType {
	case "":
		c.TopicFilterType = protocol.SingleTag
	case protocol.SingleTag, protocol.MultiTag:
	default:
		return protocol.Errorf(protocol.SystemError, "topicFilterType = [%s] value invalid", c.TopicFilterType)
	}
	_, err := h.topics.Update(c, changes)
	return err
}

// remove deletes a topic, what groups have read of it, and its queues; with clearRetryTopicWhenDeleteTopic also the pop
// retry topics of groups that read it. The retry topics of classic consumers belong to the groups and stay.
func (h *topicHandler) remove(x *remoting.Exchange) (*remoting.Command, error) {
	var req struct {
		Topic string `header:"topic"`
	}
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	cfg := h.cfg.Load()
	if err := refuseOnSlave(cfg); err != nil {
		return nil, err
	}
	if req.Topic == "" {
		return nil, protocol.Errorf(protocol.InvalidParameter, "The specified topic is blank.")
	}
	if cfg.Topics.ValidateSystem && h.topics.IsSystem(req.Topic) {
		return nil, protocol.SystemTopicConflict(req.Topic)
	}
	names := []string{req.Topic}
	if cfg.Topics.ClearRetryOnDelete {
		for _, g := range h.offsets.GroupsOf(req.Topic) {
			for _, separator := range []string{"_", "+"} { // pop retry topics, first and second form
				if retry := protocol.RetryTopic(g) + separator + req.Topic; h.topics.Get(retry) != nil {
					names = append(names, retry)
				}
			}
		}
	}
	if _, err := h.topics.Delete(names...); err != nil {
		return nil, err
	}
	read := false
	for _, name := range names {
		h.broadcast.RemoveTopic(name)
		read = h.offsets.RemoveTopic(name) || read
		h.stats.RemoveTopic(name)
		if err := h.store.DeleteTopic(name); err != nil {
			return nil, fmt.Errorf("delete the queues of topic %s: %w", name, err)
		}
	}
	if read { // or old progress meets a new topic of that name after a crash
		if err := h.offsets.Flush(); err != nil {
			return nil, fmt.Errorf("forget the progress in topic %s: %w", req.Topic, err)
		}
	}
	return okAnswer, nil
}

func (h *topicHandler) get(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.TopicHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	c := h.topics.Get(req.Topic)
	if c == nil {
		return nil, protocol.Errorf(protocol.TopicNotExist, "No topic in this broker. topic: %s", req.Topic)
	}
	return jsonAnswer(protocol.TopicConfigAndMapping{TopicConfig: c.TopicConfig}), nil
}

func (h *topicHandler) system(*remoting.Exchange) (*remoting.Command, error) {
	return jsonAnswer(protocol.TopicList{TopicList: h.topics.SystemNames()}), nil
}

func (h *topicHandler) all(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.AllTopicConfigHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	page, err := h.cfg.Load().Topics.page(req.TopicSeq, req.MaxTopicNum, req.DataVersion)
	if err != nil {
		return nil, err
	}
	version, part, total := h.topics.Page(page.first, page.size, page.known)
	body := protocol.TopicConfigWrapper{
		DataVersion: version, MappingDataVersion: new(protocol.DataVersion),
		TopicConfigTable:           make(map[string]*protocol.TopicConfig, len(part)),
		TopicQueueMappingDetailMap: map[string]*protocol.TopicQueueMappingDetail{},
		TopicQueueMappingInfoMap:   map[string]*protocol.TopicQueueMappingInfo{},
	}
	for _, c := range part {
		body.TopicConfigTable[c.TopicName] = &c.TopicConfig
	}
	answer := jsonAnswer(body)
	answer.Header = header.Of(protocol.AllTopicConfigAnswer{TotalTopicNum: int32(total)})
	return answer, nil
}

// page is the part of a table that is asked for.
type page struct {
	first, size int
	known       *protocol.DataVersion
}

// page gives the part asked for; all of it when no field of a page is there or pages are switched off.
func (c *TopicConfig) page(first, limit *int32, version string) (page, error) {
	const everything = int(^uint(0) >> 1)
	if !c.SplitMetadata || first == nil && limit == nil && version == "" {
		return page{size: everything}, nil
	}
	p := page{size: int(c.SplitMetadataSize)}
	if first != nil {
		p.first = int(*first)
	}
	if limit != nil {
		p.size = min(p.size, int(*limit))
	}
	if version != "" {
		p.known = new(protocol.DataVersion)
		if err := javajson.Unmarshal([]byte(version), p.known); err != nil {
			return page{}, protocol.Errorf(protocol.SystemError, "dataVersion: %v", err)
		}
	}
	return p, nil
}
