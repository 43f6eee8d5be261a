// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

// ErrClosed is in the error of calls on a producer, reader or consumer that was
// closed, before or meanwhile.
var ErrClosed = errors.New("client closed")

// Code says why something failed: the answer of a broker or name server, or one of
// the client's own below.
type Code int32

// Codes of the client itself (RocketMQ: ClientErrorCode).
const (
	CodeClient       Code = -1    // refused before anything was sent: an invalid message or option, a closed client
	CodeConnect      Code = 10001 // no connection to the broker, or it broke
	CodeTimeout      Code = 10002 // no answer in time
	CodeNoBroker     Code = 10003 // the broker is not known, or has no master
	CodeNoNameServer Code = 10004 // no name server answers
	CodeNoRoute      Code = 10005 // the topic does not exist, or has no queue to write to
)

// Codes of brokers that applications may want to tell apart.
const (
	CodeSystemError      = Code(protocol.SystemError)
	CodeSystemBusy       = Code(protocol.SystemBusy)
	CodeMessageIllegal   = Code(protocol.MessageIllegal)
	CodeNotAvailable     = Code(protocol.ServiceNotAvailable)
	CodeNoPermission     = Code(protocol.NoPermission)
	CodeTopicNotExist    = Code(protocol.TopicNotExist)
	CodeNotFound         = Code(protocol.QueryNotFound)
	CodeBadSubscription  = Code(protocol.SubscriptionParseFailed)
	CodeGroupNotExist    = Code(protocol.SubscriptionGroupNotExist)
	CodeInvalidParameter = Code(protocol.InvalidParameter)
)

var ownNames = map[Code]string{
	CodeConnect: "no connection", CodeTimeout: "no answer in time", CodeNoBroker: "no such broker",
	CodeNoNameServer: "no name server", CodeNoRoute: "no route",
}

// String gives RocketMQ's name of the code and its number.
func (c Code) String() string {
	if name, ok := ownNames[c]; ok {
		return name
	}
	return fmt.Sprintf("%s (%d)", protocol.ResponseName(int32(c)), int32(c))
}

// Error is why something failed.
type Error struct {
	Code   Code
	Op     string // what was being done, and to what
	Addr   string // the server that refused or could not be reached, "" when it was none
	Remark string // the server's words
	Err    error  // the cause, nil when a server's answer is
}

// Error gives all of it in one line.
func (e *Error) Error() string {
	text := e.Op
	if e.Addr != "" {
		text += " at " + e.Addr
	}
	switch {
	case e.Code == CodeClient && e.Err != nil:
		return text + ": " + e.Err.Error()
	case e.Remark != "":
		return text + ": " + e.Code.String() + ": " + e.Remark
	case e.Err != nil:
		return text + ": " + e.Code.String() + ": " + e.Err.Error()
	}
	return text + ": " + e.Code.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf gives the code inside err: 0 for nil, CodeClient when it has none.
func CodeOf(err error) Code {
	if err == nil {
		return 0
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeClient
}

// retried are the answers on which a send goes on to another broker (RocketMQ:
// retryResponseCodes of DefaultMQProducer).
var retried = map[Code]bool{
	Code(protocol.SystemError):         true,
	Code(protocol.SystemBusy):          true,
	Code(protocol.ServiceNotAvailable): true,
	Code(protocol.NoPermission):        true,
	Code(protocol.TopicNotExist):       true,
	Code(protocol.NoBuyerID):           true,
	Code(protocol.NotInCurrentUnit):    true,
	Code(protocol.GoAway):              true,
}

// network tells failures of the way to a broker from answers of the broker.
func (e *Error) network() bool { return e.Code == CodeConnect || e.Code == CodeTimeout }

// retryable tells whether another broker may do better.
func (e *Error) retryable() bool {
	return e.network() || e.Code == CodeNoBroker || retried[e.Code]
}

// final tells answers that asking again does not change by itself.
func (e *Error) final() bool {
	switch int32(e.Code) {
	case protocol.NoPermission, protocol.TopicNotExist, protocol.SubscriptionParseFailed,
		protocol.SubscriptionGroupNotExist, protocol.InvalidParameter, protocol.RequestCodeNotSupported:
		return true
	}
	return e.Code == CodeNoRoute
}

// invalid is the error of something that the caller has to change.
func invalid(op string, err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	if answer, ok := err.(*protocol.Error); ok { // what the broker would answer
		return &Error{Code: Code(answer.Code), Op: op, Remark: answer.Remark}
	}
	return &Error{Code: CodeClient, Op: op, Err: err}
}

// wrap makes an *Error of whatever went wrong.
func wrap(op, addr string, err error) *Error {
	var own *Error
	var answer *protocol.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &answer):
		return &Error{Code: Code(answer.Code), Op: op, Addr: addr, Remark: answer.Remark}
	case errors.Is(err, route.ErrNoNameServer):
		return &Error{Code: CodeNoNameServer, Op: op, Err: err}
	case errors.As(err, new(dialFailure)):
		return &Error{Code: CodeConnect, Op: op, Addr: addr, Err: err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, remoting.ErrTimeout):
		return &Error{Code: CodeTimeout, Op: op, Addr: addr, Err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, ErrClosed):
		return &Error{Code: CodeClient, Op: op, Addr: addr, Err: err}
	}
	return &Error{Code: CodeConnect, Op: op, Addr: addr, Err: err}
}
