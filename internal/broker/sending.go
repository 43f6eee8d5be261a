// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// manyAnswers is from how many messages stored together on their answers are left to the goroutines that read for the
// connections. Fewer are written where they are sooner.
const manyAnswers = 24

// sending is one message (or batch) from its request to its answer. It waits for the store in place of a goroutine, and
// is reused: nothing is allocated for a message on its usual way.
//
// Life: the handler has it until it returns, the store from Append to Flush; whoever is last gives it back to the pool.
type sending struct {
	sender *sender
	cfg    *Config
	reply  remoting.ReplyTo
	inline bool // the connection flushes by itself when the handler returns
	many   bool // stored together with many others
	users  atomic.Int32
	began  time.Time

	req     protocol.SendRequest // aliases the request: gone when the handler returns
	sent    sentProperties       // likewise
	level   int                  // of the delay, 0: none
	dead    bool                 // goes to the dead letters
	queueID int32                // that was asked for, or picked for the sender
	message store.Message

	all        message.PropertyMap // that are stored; aliases the request, too
	properties []byte              // as text
	uniqueID   []byte              // UNIQ_KEY, sent back as the transaction id
	ids        []byte
	header     protocol.SendResponse
	answer     remoting.Command
}

var sendings = sync.Pool{New: func() any { return new(sending) }}

func newSending(h *sender, x *remoting.Exchange, inline bool) *sending {
	s := sendings.Get().(*sending)
	s.sender, s.reply, s.inline, s.began = h, x.ReplyTo(), inline, x.Arrived
	s.level, s.dead = 0, false
	s.users.Store(1)
	return s
}

func (s *sending) hold() { s.users.Add(1) }

func (s *sending) done() {
	if s.users.Add(-1) != 0 {
		return
	}
	s.req, s.message, s.reply, s.answer = protocol.SendRequest{}, store.Message{}, remoting.ReplyTo{}, remoting.Command{}
	s.all.Reset()
	s.sent = sentProperties{} // or it would keep the memory of large requests
	if cap(s.ids) > maxKeptIDs {
		s.ids = nil // of a large batch
	}
	sendings.Put(s)
}

const maxKeptIDs = 4 << 10

func (s *sending) decode(cmd *remoting.Command) error {
	if cmd.Code == protocol.SendMessage || cmd.Code == protocol.SendReplyMessage {
		return s.req.DecodeV1(cmd.Fields)
	}
	return s.req.DecodeV2(cmd.Fields)
}

// writeProperties makes the text that is stored: the sender's well-formed properties and the broker's, in the order in
// which a Java broker writes them.
func (s *sending) writeProperties() error {
	all := &s.all
	s.uniqueID = append(s.uniqueID[:0], s.sent.unique...)
	if len(s.uniqueID) == 0 {
		s.uniqueID = message.AppendUniqueID(s.uniqueID)
		all.PutText(message.PropUniqueKey, string(s.uniqueID))
	}
	drop := notStored
	identity := &s.cfg.Identity
	all.PutText(message.PropCluster, identity.Cluster)
	all.PutText(message.PropRegion, identity.RegionID)
	all.PutText(message.PropTraceOn, strconv.FormatBool(identity.TraceOn))
	switch {
	case s.dead:
		all.PutText(message.PropDelay, "-1")
	case s.level > 0:
		drop = notStaged
		all.PutText(message.PropDelay, strconv.Itoa(s.level))
		all.PutText(message.PropRealTopic, s.message.Topic)
		all.PutText(message.PropRealQueueID, strconv.Itoa(int(s.message.QueueID)))
		s.message.Topic, s.message.QueueID = protocol.TopicSchedule, int32(s.level-1)
	}
	s.properties = all.Append(s.properties[:0], drop)
	all.Reset()
	if len(s.properties) > message.MaxProperties {
		return s.sender.illegal(s.cfg)
	}
	s.message.Properties = s.properties
	return nil
}

// refuse makes the answer to a request that is not stored. Refusals carry the region and the trace switch too.
func (s *sending) refuse(err error) *remoting.Command {
	e := errorAnswer(err)
	return &remoting.Command{Code: e.Code, Remark: e.Remark, Header: &protocol.SendResponse{
		Region: s.cfg.Identity.RegionID, TraceOn: s.cfg.Identity.TraceOn, Refused: true,
	}}
}

var _ store.Waiter = (*sending)(nil)

// Appended queues the answer (store.Waiter).
func (s *sending) Appended(a *store.Appended) {
	s.sender.inFlight.Add(-1)
	s.many = a.Together >= manyAnswers
	s.sender.count(&s.message, a)
	if stored(a.Status) {
		s.sender.stats.PutTook(s.message.Topic, s.queueID, time.Since(s.began))
	}
	if s.reply.Oneway() {
		return
	}
	code, remark := s.sender.outcome(a)
	s.answer = remoting.Command{Code: code, Remark: remark, Header: &s.header}
	s.header = protocol.SendResponse{Region: s.cfg.Identity.RegionID, TraceOn: s.cfg.Identity.TraceOn, Refused: !stored(a.Status)}
	if stored(a.Status) {
		s.ids = appendIDs(s.ids[:0], s.message.StoreHost, a)
		s.header.MessageID, s.header.TransactionID = s.ids, s.uniqueID
		s.header.QueueID, s.header.QueueOffset = s.queueID, a.QueueOffset
		if s.message.InnerBatch {
			s.header.BatchUniqueID = s.uniqueID
		}
	}
	s.reply.Queue(&s.answer)
}

// Flush writes the connection (store.Waiter).
func (s *sending) Flush() {
	if c := s.reply.Conn(); c != nil && !s.reply.Oneway() {
		if s.many {
			c.FlushSoon()
		} else {
			c.Flush()
		}
	}
	s.done()
}
