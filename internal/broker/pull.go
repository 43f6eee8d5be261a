// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// PULL_MESSAGE (11), LITE_PULL_MESSAGE (361): all versions.
//
// Runs on the goroutine that read the request when what is asked for is in memory or does not exist; reads of old data go
// to the pull lane, so that the disk never holds up the other requests of a connection. A pull that finds nothing is held
// in the lot and answered from there.
//
// Not done: cold-data control, static topics, filter servers.

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/longpoll"
	"github.com/goddard-mq/goddard/internal/broker/offset"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/filter"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// pullTopics is what pulling needs of the topics.
type pullTopics interface {
	Get(name string) *topic.Config
	GetBytes(name []byte) *topic.Config
}

// pullGroups is what pulling needs of the groups' settings.
type pullGroups interface {
	FindBytes(name []byte) *group.Config
	Readable(group, topic []byte) bool
}

// pullMembers is what pulling needs of the connected consumers: who they are and what they subscribe to.
type pullMembers interface {
	ConsumersBytes(group []byte) *group.Consumers
}

// pullOffsets is what pulling needs of the progress of groups.
type pullOffsets interface {
	CommitBytes(topic, group []byte, queue int32, offset int64)
	SetPulled(topic, group []byte, queue int32, p offset.Pull)
	TakeReset(topic, group []byte, queue int32) (int64, bool)
}

// reader is what pulling needs of the store.
type reader interface {
	Read(dst []byte, r *store.ReadRequest) ([]byte, store.ReadResult)
	QueueRange(topic string, queueID int32) (min, max int64)
	Hot(topic string, queueID int32, offset int64) bool
}

// compiler gives compiled SQL92 expressions.
type compiler interface {
	Compile(expression string) (*filter.Expr, error)
	CompileBytes(expression []byte) (*filter.Expr, error)
}

// pullStats counts what was handed out, by group and topic.
type pullStats interface {
	Get(group, topic string, messages, bytes int)
	GetTook(group, topic string, queue int32, took time.Duration)
	GetFromDisk(group, topic string, messages, bytes int)
}

// pullHandler serves pulls.
type pullHandler struct {
	cfg         *config.Live[Config]
	topics      pullTopics
	groups      pullGroups
	members     pullMembers
	offsets     pullOffsets
	store       reader
	lot         *longpoll.Lot
	filters     registeredFilters
	expressions compiler
	faults      *filterFaults
	lane        remoting.Handler // serves again, on a lane, what has to read from the disk
	metrics     *metrics
	stats       pullStats
	broadcast   broadcastOffsets
}

// pulling is one pull while it is served; it is reused.
type pulling struct {
	req    protocol.PullRequest // aliases the request
	topic  *topic.Config
	group  *group.Config
	filter pullFilter
	puller offset.Puller // with a client: of a broadcasting group
	began  time.Time
	cold   bool // read from the disk
	read   store.ReadRequest
	result store.ReadResult
	body   []byte
	header protocol.PullResponse
	answer remoting.Command
}

var pullings = sync.Pool{New: func() any { return new(pulling) }}

// maxKeptBody is the largest body buffer that is kept for the next pull, bytes.
const maxKeptBody = 512 << 10

func (p *pulling) release() {
	body := p.body[:0]
	if cap(body) > maxKeptBody {
		body = nil
	}
	*p = pulling{body: body}
	pullings.Put(p)
}

func (h *pullHandler) serveInline(x *remoting.Exchange) (*remoting.Command, error) {
	return h.serve(x, true)
}

func (h *pullHandler) serveOnLane(x *remoting.Exchange) (*remoting.Command, error) {
	return h.serve(x, false)
}

func (h *pullHandler) serve(x *remoting.Exchange, inline bool) (*remoting.Command, error) {
	p := pullings.Get().(*pulling)
	defer p.release()
	if err := p.req.Decode(x.Request.Fields); err != nil {
		return nil, err
	}
	p.began, p.cold = x.Arrived, !inline
	cfg := h.cfg.Load()
	if refusal := h.check(p, cfg, x); refusal != nil {
		return refusal.command(), nil
	}
	if !inline && x.Conn.Backlogged() {
		h.putOff(p)
	} else if offset, reset := h.offsets.TakeReset(p.req.Topic, p.req.Group, p.req.QueueID); reset {
		h.moveTo(p, offset)
	} else if offset, moved := h.beginOf(p); moved {
		h.moveTo(p, offset)
	} else {
		if inline && !h.inMemory(p) {
			h.lane.ServeCommand(x)
			return nil, nil
		}
		p.body, p.result = h.store.Read(p.body[:0], &p.read)
		h.setPulled(p, p.req.Topic, p.req.Group, x.Conn)
	}
	// As in RocketMQ also by the pull that learns of a reset; the client commits what it was told right after. But progress in a
	// topic that was deleted means nothing in the one that was made anew.
	if p.req.SysFlag&protocol.PullCommit != 0 && (p.result.Status != store.OffsetReset || p.req.CommitOffset <= p.result.Max) {
		h.offsets.CommitBytes(p.req.Topic, p.req.Group, p.req.QueueID, p.req.CommitOffset)
	}
	if p.result.Status == store.Unreadable {
		return nil, fmt.Errorf("read topic %s, queue %d, offset %d: %w", p.topic.TopicName, p.req.QueueID, p.req.QueueOffset, p.result.Err)
	}
	h.complete(p, cfg)
	h.follow(p)
	if p.answer.Code == protocol.PullNotFound && p.req.SysFlag&protocol.PullSuspend != 0 {
		switch err := h.hold(p, cfg, x); {
		case err == nil:
			return nil, nil
		case errors.Is(err, longpoll.ErrFull):
			return nil, errTooManyHeld
		} // about to stop: answered as it is
	}
	reply := x.ReplyTo()
	if inline {
		reply.Queue(&p.answer)
	} else {
		reply.Send(&p.answer)
	}
	return nil, nil
}

// inMemory tells whether the read will not touch the disk.
func (h *pullHandler) inMemory(p *pulling) bool {
	first, end := h.store.QueueRange(p.topic.TopicName, p.req.QueueID)
	return p.req.QueueOffset < first || p.req.QueueOffset >= end || h.store.Hot(p.topic.TopicName, p.req.QueueID, p.req.QueueOffset)
}

// setPulled remembers how far the group has read in the queue, and who reads it.
func (h *pullHandler) setPulled(p *pulling, topic, group []byte, conn *remoting.Conn) {
	h.offsets.SetPulled(topic, group, p.req.QueueID, offset.Pull{Next: p.result.Next, At: p.began, By: conn.ID()})
}

// moveTo makes the result that tells a consumer to go on from an offset that an administrator set.
func (h *pullHandler) moveTo(p *pulling, offset int64) {
	first, end := h.store.QueueRange(p.topic.TopicName, p.req.QueueID)
	p.body = p.body[:0]
	p.result = store.ReadResult{Status: store.OffsetReset, Next: offset, Min: first, Max: end}
}

// putOff makes the result that has a consumer ask again. One that had thousands of pulls held and takes no answers would
// otherwise get thousands of answers full of messages, all of which would wait in memory.
func (h *pullHandler) putOff(p *pulling) {
	first, end := h.store.QueueRange(p.topic.TopicName, p.req.QueueID)
	p.body = p.body[:0]
	p.result = store.ReadResult{Status: store.OffsetOverflowOne, Next: p.read.Offset, Min: first, Max: end}
}

// complete makes the answer from the result.
func (h *pullHandler) complete(p *pulling, cfg *Config) {
	r := &p.result
	p.header = protocol.PullResponse{
		NextBeginOffset: r.Next, MinOffset: r.Min, MaxOffset: r.Max, HasSysFlags: true,
		TopicSysFlag: p.topic.TopicSysFlag, GroupSysFlag: p.group.GroupSysFlag,
	}
	if cfg.Pull.SlaveRead {
		p.header.SuggestBrokerID = p.group.BrokerID
		if r.SuggestSlave {
			p.header.SuggestBrokerID = p.group.WhichBrokerWhenConsumeSlowly
		}
	}
	p.answer = remoting.Command{Code: pullCode(r.Status, p.read.Offset), Remark: r.Status.String(), Header: &p.header}
	if r.Err != nil {
		p.answer.Remark = r.Err.Error()
	}
	if r.Status == store.Found {
		p.answer.Body = p.body
		h.count(p)
	}
}

// count adds to what was handed out.
func (h *pullHandler) count(p *pulling) {
	group, topic, messages, bytes := p.group.GroupName, p.topic.TopicName, p.result.Count, len(p.body)
	h.metrics.pulled(messages, bytes)
	h.stats.Get(group, topic, messages, bytes)
	h.stats.GetTook(group, topic, p.read.QueueID, time.Since(p.began))
	if p.cold {
		h.stats.GetFromDisk(group, topic, messages, bytes)
	}
}

// pullCode is the code that tells a consumer what became of its pull at the offset.
func pullCode(s store.ReadStatus, offset int64) int32 {
	switch s {
	case store.Found:
		return protocol.Success
	case store.MessageWasRemoving, store.NoMatchedMessage:
		return protocol.PullRetryImmediately
	case store.NoMatchedLogicQueue, store.NoMessageInQueue:
		if offset != 0 {
			return protocol.PullOffsetMoved
		}
		return protocol.PullNotFound
	case store.OffsetFoundNull, store.OffsetOverflowOne:
		return protocol.PullNotFound
	case store.Unreadable:
		return protocol.SystemError
	}
	return protocol.PullOffsetMoved
}

// maxHold bounds how long a client may have a pull held. RocketMQ's ask for 15 to 30 s.
const maxHold = 10 * time.Minute

var errTooManyHeld = &protocol.Error{Code: protocol.SystemBusy, Remark: "[OVERLOAD]system busy, start flow control for a while, too many pulls are held"}

// hold parks the pull, and looks once more whether something arrived before it was parked.
func (h *pullHandler) hold(p *pulling, cfg *Config, x *remoting.Exchange) error {
	wish := time.Duration(min(max(p.req.SuspendTimeout, 0), maxHold.Milliseconds())) * time.Millisecond
	if !cfg.Pull.LongPolling {
		wish = cfg.Pull.ShortPolling
	}
	held := &heldPull{
		handler: h, reply: x.ReplyTo(), group: p.group.GroupName, filter: p.filter.silent(), maxCount: p.read.MaxCount,
		client: p.puller.Client, proxied: p.puller.Proxied,
	}
	held.Pull = longpoll.Pull{
		Topic: p.topic.TopicName, QueueID: p.req.QueueID, Offset: p.req.QueueOffset,
		Deadline: time.Now().Add(wish).UnixNano(), Quiet: !cfg.Pull.LongPolling, Owner: held,
	}
	if !held.filter.WantsAll() {
		held.Pull.Filter = &held.filter
	}
	if err := h.lot.Park(&held.Pull); err != nil {
		return err
	}
	if _, end := h.store.QueueRange(held.Topic, held.QueueID); end > held.Offset && !held.Quiet {
		h.lot.Wake(&held.Pull)
	}
	return nil
}

// heldPull is what is kept of a pull that is held.
type heldPull struct {
	longpoll.Pull
	handler  *pullHandler
	reply    remoting.ReplyTo
	group    string
	filter   pullFilter
	maxCount int
	client   string // of a broadcasting group, as in pulling.puller
	proxied  bool
}

// Resume answers the pull with what there is now; it is not held again (longpoll.Owner).
func (held *heldPull) Resume() {
	if held.reply.Conn().Closed() {
		return
	}
	h := held.handler
	p := pullings.Get().(*pulling)
	defer p.release()
	p.began = time.Now()
	cfg := h.cfg.Load()
	p.topic, p.group = h.topics.Get(held.Topic), h.groups.FindBytes([]byte(held.group))
	if refusal := h.mayStillRead(p, held, cfg); refusal != nil {
		held.reply.Send(refusal.command())
		return
	}
	p.filter = held.filter
	p.filter.faults = h.faults
	p.read = store.ReadRequest{Topic: held.Topic, QueueID: held.QueueID, Offset: held.Offset, MaxCount: held.maxCount}
	p.req.QueueID = held.QueueID
	p.puller = offset.Puller{Topic: held.Topic, Group: held.group, Client: held.client, Queue: held.QueueID, Proxied: held.proxied}
	group, topic := []byte(held.group), []byte(held.Topic)
	if held.reply.Conn().Backlogged() {
		h.putOff(p)
	} else if offset, reset := h.offsets.TakeReset(topic, group, held.QueueID); reset {
		h.moveTo(p, offset)
	} else {
		if !p.filter.WantsAll() {
			p.read.Filter = &p.filter
		}
		p.body, p.result = h.store.Read(p.body[:0], &p.read)
		h.setPulled(p, topic, group, held.reply.Conn())
	}
	h.complete(p, cfg)
	h.follow(p)
	held.reply.Send(&p.answer)
}
