// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"errors"
	"net/netip"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// stored tells whether the message is in the log, safely or not: then its answer has ids.
func stored(s store.Status) bool { return s == store.OK || s == store.FlushDiskTimeout }

// outcome gives the code and remark that tell a sender how its append went (RocketMQ: handlePutMessageResult).
func (h *sender) outcome(a *store.Appended) (code int32, remark string) {
	why := ""
	if a.Err != nil {
		why = ": " + a.Err.Error()
	}
	switch a.Status {
	case store.OK:
		return protocol.Success, ""
	case store.FlushDiskTimeout:
		return protocol.FlushDiskTimeout, ""
	case store.ServiceNotAvailable:
		return protocol.ServiceNotAvailable, "service not available now" + why
	case store.Busy:
		return protocol.SystemBusy, "[PC_SYNCHRONIZED]broker busy, start flow control for a while" + why
	case store.MessageIllegal, store.PropertiesTooLong:
		e := h.illegal(h.cfg.Load())
		return e.Code, e.Remark + why
	case store.CreateFileFailed:
		return protocol.SystemError, "create mapped file failed, server is busy or broken" + why
	}
	return protocol.SystemError, "UNKNOWN_ERROR" + why
}

// illegal is the refusal of a message that breaks a limit.
func (h *sender) illegal(c *Config) *protocol.Error {
	return protocol.Errorf(protocol.MessageIllegal,
		"the message is illegal, maybe msg body or properties length not matched. msg body length limit %dB, msg properties length limit 32KB.",
		c.Store.MaxMessageBytes)
}

// appendIDs writes the offset ids of what was stored, joined by commas.
func appendIDs(dst []byte, host netip.AddrPort, a *store.Appended) []byte {
	if len(a.PhysicalOffsets) == 0 {
		return message.AppendOffsetID(dst, host, a.PhysicalOffset)
	}
	for i, at := range a.PhysicalOffsets {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = message.AppendOffsetID(dst, host, at)
	}
	return dst
}

// count adds to what was sent.
func (h *sender) count(m *store.Message, a *store.Appended) {
	h.metrics.sent(a.Status)
	if stored(a.Status) {
		n := max(a.Count, 1)
		h.stats.Put(m.Topic, n, len(m.Body))
		if m.Topic == protocol.TopicSchedule {
			h.stats.Delay(m.Topic, m.QueueID, n, len(m.Body))
		}
	}
}

// errorAnswer gives what a peer is told of err.
func errorAnswer(err error) *protocol.Error {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e
	}
	return &protocol.Error{Code: protocol.SystemError, Remark: err.Error()}
}
