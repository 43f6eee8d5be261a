// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// SEND_REPLY_MESSAGE (324), SEND_REPLY_MESSAGE_V2 (325): the answer to a request that was sent as a message. It is pushed
// (326) to the client that asked, and with storeReplyMessageEnable also kept in <cluster>_REPLY_TOPIC.

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// pushReplyTimeout is how long the client that asked may take to answer the push.
const pushReplyTimeout = 10 * time.Second

// producerTable finds the client that asked.
type producerTable interface {
	FindProducer(clientID []byte) *remoting.Conn
}

// replyHandler serves 324 and 325, on the reply lane.
type replyHandler struct {
	*sendHandler
	producers producerTable
}

func (h *replyHandler) serve(x *remoting.Exchange) (*remoting.Command, error) {
	s := newSending(h.sender, x, false)
	defer s.done()
	if err := s.decode(&x.Request); err != nil {
		return nil, err
	}
	if err := h.admit(x.Arrived); err != nil {
		return nil, err
	}
	s.cfg = h.cfg.Load()
	t, err := h.check(s, x)
	if err != nil {
		return s.refuse(err), nil
	}
	s.queueID = s.req.QueueID
	if s.queueID < 0 {
		s.queueID = rand.Int32N(max(t.WriteQueueNums, 1))
	}
	s.sent.read(s.req.Properties, &s.all)
	s.uniqueID = append(s.uniqueID[:0], s.sent.unique...)
	properties := message.AppendInMapOrder(nil,
		appendTracing(message.NormalizeProperties(nil, s.req.Properties, message.PropRegion, message.PropTraceOn), &s.cfg.Identity), nil)
	r := &reply{
		handler: h, cfg: s.cfg, to: x.ReplyTo(),
		message: store.Message{
			Topic: t.TopicName, QueueID: s.queueID, Flag: s.req.Flag, SysFlag: s.req.SysFlag,
			BornTimestamp: s.req.BornTimestamp, BornHost: x.Conn.RemoteAddrPort(), StoreHost: h.storeHost,
			ReconsumeTimes: s.req.ReconsumeTimes, Body: x.Request.Body, Properties: properties,
		},
	}
	h.push(r, &s.req)
	return nil, nil
}

// push hands the reply to the client that asked; the rest follows when that answered.
func (h *replyHandler) push(r *reply, req *protocol.SendRequest) {
	client, named := message.FindProperty(r.message.Properties, message.PropReplyTo)
	if !named {
		r.settle(protocol.Errorf(protocol.SystemError, "reply message properties[%s] is null", message.PropReplyTo))
		return
	}
	conn := h.producers.FindProducer(client)
	if conn == nil {
		r.settle(protocol.Errorf(protocol.SystemError, "push reply message fail, channel of <%s> not found.", client))
		return
	}
	failed := protocol.Errorf(protocol.SystemError, "push reply message to %sfail.", client) // sic
	now := time.Now().UnixMilli()
	m := &r.message
	conn.Go(&remoting.Command{
		Code: protocol.PushReplyMessageToClient, Body: m.Body,
		Header: header.Of(protocol.PushReplyRequest{
			ProducerGroup: string(req.ProducerGroup), Topic: m.Topic,
			DefaultTopic: string(req.DefaultTopic), DefaultTopicQueueNums: req.DefaultTopicQueueNums,
			QueueID: m.QueueID, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp, Flag: m.Flag,
			Properties:     string(message.AppendProperty(m.Properties[:len(m.Properties):len(m.Properties)], message.PropPushReplyTime, strconv.FormatInt(now, 10))),
			ReconsumeTimes: m.ReconsumeTimes, UnitMode: req.UnitMode,
			BornHost: m.BornHost.String(), StoreHost: m.StoreHost.String(), StoreTimestamp: now,
		}),
	}, pushReplyTimeout, func(answer *remoting.Command, err error) {
		if err != nil || answer.Code != protocol.Success {
			r.settle(failed)
			return
		}
		r.settle(nil)
	})
}

// reply is an answer on its way.
type reply struct {
	handler *replyHandler
	cfg     *Config
	to      remoting.ReplyTo
	message store.Message
	answer  remoting.Command
	header  protocol.SendResponse
}

// settle goes on after the push, whose outcome alone decides the code. It does not wait.
func (r *reply) settle(pushed *protocol.Error) {
	identity := &r.cfg.Identity
	r.header = protocol.SendResponse{
		MessageID: []byte("0"), QueueID: r.message.QueueID, Region: identity.RegionID, TraceOn: identity.TraceOn,
	}
	r.answer = remoting.Command{Code: protocol.Success, Header: &r.header}
	if pushed != nil {
		r.answer.Code, r.answer.Remark = pushed.Code, pushed.Remark
	}
	if !r.cfg.Send.StoreReplies {
		r.to.Send(&r.answer)
		return
	}
	h := r.handler
	h.inFlight.Add(1)
	h.store.Append(&r.message, r)
	h.store.Commit()
}

// Appended queues the answer (store.Waiter). A reply that could not be stored changes nothing.
func (r *reply) Appended(a *store.Appended) {
	r.handler.inFlight.Add(-1)
	r.handler.count(&r.message, a)
	if stored(a.Status) {
		r.header.MessageID, r.header.QueueOffset = appendIDs(nil, r.message.StoreHost, a), a.QueueOffset
	}
	r.to.Queue(&r.answer)
}

// Flush writes the connection (store.Waiter).
func (r *reply) Flush() { r.to.Conn().Flush() }
