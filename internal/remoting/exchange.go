// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import "time"

// Exchange is one request being handled. It is reused for the next request of its
// connection after an inline handler returns.
type Exchange struct {
	Conn    *Conn
	Request Command
	Arrived time.Time // when the request was read

	response Command
}

// Response gives an empty command to answer x with, which costs no memory: it is
// x's own and serves its next request, too.
func (x *Exchange) Response() *Command {
	x.response = Command{}
	return &x.response
}

// Clone makes an exchange that outlives the read buffer.
func (x *Exchange) Clone() *Exchange {
	return &Exchange{Conn: x.Conn, Request: *x.Request.Clone(), Arrived: x.Arrived}
}

// ReplyTo is the address of x's answer.
func (x *Exchange) ReplyTo() ReplyTo {
	return ReplyTo{
		conn:   x.Conn,
		opaque: x.Request.Opaque,
		serial: x.Conn.answerForm(x.Request.Serializer),
		oneway: x.Request.IsOneway(),
	}
}

// ReplyTo is the address of an answer: a small value that may be kept and used
// later, from any goroutine, once.
type ReplyTo struct {
	conn   *Conn
	opaque int32
	serial Serializer
	oneway bool
}

// Send encodes the answer and flushes the connection. Does nothing for oneway
// requests (RocketMQ processes them and drops the answer). Flag, opaque,
// serializer, language and version are set here and those in resp ignored, so
// resp is not changed and may be sent to many. It takes nothing of resp with it.
//
// The form is that of the request, but JSON on a connection that has sent JSON
// before: only a peer that speaks nothing but binary gets binary. (RocketMQ answers in
// its own default form, JSON, which every client understands.)
func (r ReplyTo) Send(resp *Command) { r.answer(resp, true) }

// Queue encodes the answer into the connection's outgoing buffer without flushing;
// Conn.Flush must follow, which for inline handlers the connection does itself.
func (r ReplyTo) Queue(resp *Command) { r.answer(resp, false) }

// Conn is the connection that the request came on.
func (r ReplyTo) Conn() *Conn { return r.conn }

// Oneway tells whether the requester wants no answer.
func (r ReplyTo) Oneway() bool { return r.oneway }

func (r ReplyTo) answer(resp *Command, flush bool) {
	if r.oneway || r.conn == nil {
		return
	}
	c := r.conn
	m := meta{
		opaque:     r.opaque,
		flag:       FlagResponse,
		version:    c.cfg.Version,
		language:   c.cfg.Language,
		serializer: r.serial,
	}
	if err := c.write(resp, m, flush); err != nil {
		c.answerInstead(err, resp, m, flush)
	}
}

// The two codes that this package has to know: for answers that can not be sent as
// they are, and for requests to a side that serves none.
const (
	codeSystemError  = 1
	codeNotSupported = 3
)

// answerInstead tells the peer that its answer does not fit: silence would cost
// it a timeout, an oversized frame the connection.
func (c *Conn) answerInstead(err error, resp *Command, m meta, flush bool) {
	if c.closed.Load() {
		return
	}
	c.cfg.Logger.Error("answer can not be sent", "addr", c.RemoteAddr(), "code", resp.Code, "err", err)
	_ = c.write(&Command{Code: codeSystemError, Remark: err.Error()}, m, flush)
}

// Handler serves requests of a connection. For the time of the call x is the
// handler's; it answers through x.ReplyTo(), at once or later.
type Handler interface {
	ServeCommand(x *Exchange)
}
