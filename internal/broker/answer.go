// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"errors"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Answers that say nothing but "done". They are shared: an answer is not changed by sending it.
var (
	okAnswer = &remoting.Command{Code: protocol.Success}
	okEmpty  = &remoting.Command{Code: protocol.Success, EmptyFields: true} // where RocketMQ has a header class without fields
)

// jsonAnswer is a success with a body.
func jsonAnswer(body any) *remoting.Command {
	return &remoting.Command{Code: protocol.Success, Body: javajson.Marshal(body, javajson.Bare)}
}

// refusal is a failure whose answer has an empty set of fields, like okEmpty.
func refusal(code int32, remark string) *remoting.Command {
	return &remoting.Command{Code: code, Remark: remark, EmptyFields: true}
}

var errNoBody = errors.New("the request has no body")

// decodeBody reads a request's JSON.
func decodeBody(x *remoting.Exchange, v any) error {
	if len(x.Request.Body) == 0 {
		return errNoBody
	}
	return javajson.Unmarshal(x.Request.Body, v)
}
