// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// GET_ALL_DELAY_OFFSET (45): the progress of delayed messages, for slaves and tools.

import (
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// delayProgress is what is asked for.
type delayProgress interface {
	Encode() []byte
}

// delayHandler serves 45.
type delayHandler struct{ progress delayProgress }

func (h *delayHandler) offsets(*remoting.Exchange) (*remoting.Command, error) {
	return &remoting.Command{Code: protocol.Success, Body: h.progress.Encode()}, nil
}
