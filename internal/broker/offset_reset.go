// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Progress that administrators change: INVOKE_BROKER_TO_RESET_OFFSET (222), which in its old form sends
// RESET_CONSUMER_CLIENT_OFFSET (220) to the members, CLONE_GROUP_OFFSET (314), QUERY_CORRECTION_OFFSET (308).

import (
	"slices"
	"strings"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// resetOffsets is the table of committed offsets.
type resetOffsets interface {
	Query(topic, group string, queue int32) (int64, bool)
	Reset(topic, group string, queue int32, offset int64)
	Clone(topic, from, to string)
	Offsets(topic, group string) map[int32]int64
	GroupsOf(topic string) []string
	Flush() error
}

// The other parts that resets ask.
type (
	resetTopics interface {
		Get(name string) *topic.Config
	}
	resetGroups interface {
		Get(name string) *group.Config
	}
	resetMembers interface {
		Consumers(group string) *group.Consumers
	}
	resetBounds interface {
		QueueRange(topic string, queueID int32) (min, max int64)
		OffsetByTime(topic string, queueID int32, ms int64, upper bool) int64
	}
)

// resetHandler serves 222, 314 and 308, on the admin lane.
type resetHandler struct {
	cfg     *config.Live[Config]
	topics  resetTopics
	groups  resetGroups
	members resetMembers
	offsets resetOffsets
	store   resetBounds
	wake    func(topic string) // pulls that are held
}

func (h *resetHandler) reset(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.ResetOffsetHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	cfg := h.cfg.Load()
	if cfg.Identity.ID != protocol.MasterID {
		return nil, protocol.Errorf(protocol.SystemError, "Can not reset offset in slave broker")
	}
	t := h.topics.Get(req.Topic)
	if t == nil {
		return nil, protocol.Errorf(protocol.TopicNotExist, "Topic %s does not exist", req.Topic)
	}
	var table map[protocol.MessageQueue]int64
	var err error
	if cfg.Groups.ServerSideReset {
		table, err = h.resetHere(cfg, t, &req)
	} else {
		table, err = h.resetInMembers(cfg, t, &req)
	}
	if err != nil {
		return nil, err
	}
	return jsonAnswer(protocol.ResetOffsetBody{OffsetTable: table}), nil
}

// resetHere sets the group's offsets; members learn it with their next pull of each queue.
func (h *resetHandler) resetHere(cfg *Config, t *topic.Config, req *protocol.ResetOffsetHeader) (map[protocol.MessageQueue]int64, error) {
	if h.groups.Get(req.Group) == nil {
		return nil, protocol.Errorf(protocol.SubscriptionGroupNotExist, "Group %s does not exist", req.Group)
	}
	offsets := map[int32]int64{}
	switch {
	case req.QueueID == nil || *req.QueueID < 0:
		for q := range listed(t.ReadQueueNums) {
			offsets[q] = h.offsetAt(req.Topic, q, req.Timestamp)
		}
		if len(offsets) == 0 {
			return nil, protocol.Errorf(protocol.SystemError, "No queues to reset.")
		}
	case req.Offset == nil || *req.Offset == -1:
		offsets[*req.QueueID] = h.offsetAt(req.Topic, *req.QueueID, req.Timestamp)
	default:
		first, end := h.store.QueueRange(req.Topic, *req.QueueID)
		if *req.Offset < first || *req.Offset > end+1 {
			return nil, protocol.Errorf(protocol.SystemError, "Target offset %d not in consume queue range [%d-%d]", *req.Offset, first, end)
		}
		offsets[*req.QueueID] = *req.Offset
	}
	table := make(map[protocol.MessageQueue]int64, len(offsets))
	for q, offset := range offsets {
		h.offsets.Reset(req.Topic, req.Group, q, offset)
		table[protocol.MessageQueue{BrokerName: cfg.Identity.Name, QueueID: q, Topic: req.Topic}] = offset
	}
	err := h.offsets.Flush()
	h.wake(req.Topic) // so that members learn it now, not when their pulls' time is over
	return table, err
}

// offsetAt gives the queue's first offset at or after a time; before all time is its end.
func (h *resetHandler) offsetAt(topic string, queue int32, ms int64) int64 {
	if ms < 0 {
		_, end := h.store.QueueRange(topic, queue)
		return end
	}
	return h.store.OffsetByTime(topic, queue, ms, false)
}

// resetInMembers is the old way (useServerSideResetOffset=false, and all of 4.x): members that are online are told the
// new offsets and commit them themselves.
func (h *resetHandler) resetInMembers(cfg *Config, t *topic.Config, req *protocol.ResetOffsetHeader) (map[protocol.MessageQueue]int64, error) {
	table := map[protocol.MessageQueue]int64{}
	for q := range listed(t.WriteQueueNums) {
		committed, ok := h.offsets.Query(req.Topic, req.Group, q)
		if !ok {
			return nil, protocol.Errorf(protocol.SystemError, "THe consumer group <%s> not exist", req.Group) // sic
		}
		target := max(h.offsetAt(req.Topic, q, req.Timestamp), 0)
		if !req.IsForce {
			target = min(target, committed)
		}
		table[protocol.MessageQueue{BrokerName: cfg.Identity.Name, QueueID: q, Topic: req.Topic}] = target
	}
	consumers := h.members.Consumers(req.Group)
	if consumers == nil {
		return nil, protocol.Errorf(protocol.ConsumerNotOnline,
			"Consumer not online, so can not reset offset, Group: %s Topic: %s Timestamp: %d", req.Group, req.Topic, req.Timestamp)
	}
	all := int32(-1)
	fields := header.Of(protocol.ResetOffsetHeader{
		Topic: req.Topic, Group: req.Group, Timestamp: req.Timestamp, IsForce: req.IsForce, QueueID: &all,
	})
	for _, m := range consumers.Members {
		if m.Version < protocol.V3_0_7Snapshot {
			return nil, tooOld(m.Version)
		}
		// A member that cannot be written to is on its way out: its successor reads what the others commit.
		_ = m.Conn.Oneway(&remoting.Command{Code: protocol.ResetConsumerClientOffset, Header: fields, Body: resetBody(m.Language, table)})
	}
	return table, nil
}

func tooOld(version int32) error {
	return protocol.Errorf(protocol.SystemError, "the client does not support this feature. version=%d", version)
}

// resetBody gives the offsets in the form that the receiver reads: C++ clients know a list only.
func resetBody(l remoting.Language, table map[protocol.MessageQueue]int64) []byte {
	if l != remoting.LanguageCPP {
		return javajson.Marshal(protocol.ResetOffsetBody{OffsetTable: table}, javajson.Bare)
	}
	list := make([]protocol.QueueOffset, 0, len(table))
	for q, offset := range table {
		list = append(list, protocol.QueueOffset{BrokerName: q.BrokerName, Offset: offset, QueueID: q.QueueID, Topic: q.Topic})
	}
	slices.SortFunc(list, func(a, b protocol.QueueOffset) int { return int(a.QueueID) - int(b.QueueID) })
	return javajson.Marshal(protocol.ResetOffsetList{OffsetTable: list}, javajson.Bare)
}

// clone copies a group's offsets in one topic to another group. Without a topic it does nothing, as in RocketMQ.
func (h *resetHandler) clone(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.CloneOffsetHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	if h.topics.Get(req.Topic) == nil {
		return okAnswer, nil
	}
	if !req.Offline {
		if c := h.members.Consumers(req.SrcGroup); c != nil && len(c.Subscriptions) > 0 && c.Subscriptions[req.Topic] == nil {
			return okAnswer, nil
		}
	}
	h.offsets.Clone(req.Topic, req.SrcGroup, req.DestGroup)
	if err := h.offsets.Flush(); err != nil {
		return nil, err
	}
	return okAnswer, nil
}

// correction gives the smallest offset that any group has in each queue of a topic, and "none" (the largest number) for
// queues in which compareGroup is behind that. Groups to leave out are left out of the answer; RocketMQ deletes their
// offsets instead.
func (h *resetHandler) correction(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.CorrectionOffsetHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	leftOut := strings.Split(req.FilterGroups, ",")
	smallest := map[int32]int64{}
	for _, g := range h.offsets.GroupsOf(req.Topic) {
		if slices.Contains(leftOut, g) {
			continue
		}
		for q, offset := range h.offsets.Offsets(req.Topic, g) {
			if first, _ := h.store.QueueRange(req.Topic, q); offset < first {
				continue
			}
			if known, ok := smallest[q]; !ok || offset < known {
				smallest[q] = offset
			}
		}
	}
	for q, offset := range h.offsets.Offsets(req.Topic, req.CompareGroup) {
		if known, ok := smallest[q]; ok && known > offset {
			smallest[q] = 1<<63 - 1
		}
	}
	return jsonAnswer(protocol.CorrectionOffsets{CorrectionOffsets: smallest}), nil
}

// maxListed bounds the queues of a topic that are gone through one by one: an administrator may give a topic any number.
const maxListed = 1 << 16

// listed goes through the queue ids below n.
func listed(n int32) func(yield func(int32) bool) {
	return func(yield func(int32) bool) {
		for q := range min(n, maxListed) {
			if !yield(q) {
				return
			}
		}
	}
}
