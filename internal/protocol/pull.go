// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"math/bits"

	"github.com/goddard-mq/goddard/internal/header"
)

// Bits of PullRequest.SysFlag (RocketMQ: PullSysFlag).
const (
	PullCommit       int32 = 1  // CommitOffset is to be stored
	PullSuspend      int32 = 2  // hold the request while there is nothing
	PullSubscription int32 = 4  // the request brings its subscription
	PullClassFilter  int32 = 8  // filter servers; accepted, no filtering
	PullLite         int32 = 16 // lite pull consumer
)

// SourceProxyBroadcast is PullRequest.RequestSource of a proxy that pulls for a client in broadcasting mode (RocketMQ:
// RequestSource.PROXY_FOR_BROADCAST).
const SourceProxyBroadcast int32 = 1

// Values of a pull answer's forbiddenType, beside NO_PERMISSION (RocketMQ: ForbiddenType).
const (
	ForbiddenBroker       int32 = 1
	ForbiddenGroup        int32 = 2
	ForbiddenTopic        int32 = 3
	ForbiddenBroadcast    int32 = 4
	ForbiddenSubscription int32 = 5
)

// PullRequest is the header of PULL_MESSAGE (11) and LITE_PULL_MESSAGE (361) (RocketMQ: PullMessageRequestHeader).
// Decoded byte slices alias the fields.
type PullRequest struct {
	Group          []byte
	Topic          []byte
	QueueID        int32
	QueueOffset    int64
	MaxMessages    int32
	SysFlag        int32
	CommitOffset   int64
	SuspendTimeout int64 // ms the request may be held
	SubVersion     int64
	Subscription   []byte // expression, with PullSubscription
	ExpressionType []byte // "": TAG
	MaxBytes       int32  // wish of the client; brokers do not read it
	RequestSource  int32  // -1 SDK, 0 ordered, SourceProxyBroadcast, 2 stream proxy
	ProxyClientID  []byte // client behind a proxy
	BrokerName     []byte
}

var _ header.Encoder = (*PullRequest)(nil)

var pullNames = [...]string{
	"consumerGroup", "topic", "queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset", "suspendTimeoutMillis",
	"subVersion", "subscription", "expressionType", "maxMsgBytes", "requestSource", "proxyFrowardClientId", "bname",
}

// pullRequired are the first nine fields.
const pullRequired = 1<<9 - 1

// Decode reads the request. The error is a *header.FieldError.
func (h *PullRequest) Decode(f header.Fields) error {
	*h = PullRequest{RequestSource: -1}
	var r fieldReader
	seen := 0
	for i := range f {
		n := pullField(f[i].Key)
		if n < 0 {
			continue
		}
		seen |= 1 << n
		r.field = pullNames[n]
		h.set(&r, n, f[i].Value)
	}
	if missing := pullRequired &^ seen; missing != 0 {
		r.missing(pullNames[bits.TrailingZeros(uint(missing))])
	}
	return r.failed()
}

func pullField(key []byte) int {
	for i, name := range pullNames {
		if string(key) == name {
			return i
		}
	}
	return -1
}

func (h *PullRequest) set(r *fieldReader, n int, v []byte) {
	switch n {
	case 0:
		h.Group = v
	case 1:
		h.Topic = v
	case 2:
		h.QueueID = r.int32(v)
	case 3:
		h.QueueOffset = r.int64(v)
	case 4:
		h.MaxMessages = r.int32(v)
	case 5:
		h.SysFlag = r.int32(v)
	case 6:
		h.CommitOffset = r.int64(v)
	case 7:
		h.SuspendTimeout = r.int64(v)
	case 8:
		h.SubVersion = r.int64(v)
	case 9:
		h.Subscription = v
	case 10:
		h.ExpressionType = v
	case 11:
		h.MaxBytes = r.int32(v)
	case 12:
		h.RequestSource = r.int32(v)
	case 13:
		h.ProxyClientID = v
	case 14:
		h.BrokerName = v
	}
}

// EncodeFields writes the request; what is empty or the default of the optional fields is left out.
func (h *PullRequest) EncodeFields(w header.Writer) {
	w.Bytes(pullNames[0], h.Group)
	w.Bytes(pullNames[1], h.Topic)
	w.Int32(pullNames[2], h.QueueID)
	w.Int64(pullNames[3], h.QueueOffset)
	w.Int32(pullNames[4], h.MaxMessages)
	w.Int32(pullNames[5], h.SysFlag)
	w.Int64(pullNames[6], h.CommitOffset)
	w.Int64(pullNames[7], h.SuspendTimeout)
	w.Int64(pullNames[8], h.SubVersion)
	if h.SysFlag&PullSubscription != 0 {
		w.Bytes(pullNames[9], h.Subscription)
	}
	writeNotEmpty(w, pullNames[10], h.ExpressionType)
	if h.MaxBytes != 0 {
		w.Int32(pullNames[11], h.MaxBytes)
	}
	if h.RequestSource >= 0 {
		w.Int32(pullNames[12], h.RequestSource)
	}
	writeNotEmpty(w, pullNames[13], h.ProxyClientID)
	writeNotEmpty(w, pullNames[14], h.BrokerName)
}

// PullResponse is the header of the answer. Clients need the four offsets and the suggestion with SUCCESS and with 19, 20
// and 21; refusals carry Forbidden at most.
type PullResponse struct {
	SuggestBrokerID int64 // to ask next: 0 the master
	NextBeginOffset int64
	MinOffset       int64
	MaxOffset       int64
	TopicSysFlag    int32
	GroupSysFlag    int32
	HasSysFlags     bool  // write the two
	Forbidden       int32 // forbiddenType; 0: left out
	Refused         bool  // write Forbidden only
}

var _ header.Encoder = (*PullResponse)(nil)

// EncodeFields writes what is set.
func (h *PullResponse) EncodeFields(w header.Writer) {
	if !h.Refused {
		w.Int64("suggestWhichBrokerId", h.SuggestBrokerID)
		w.Int64("nextBeginOffset", h.NextBeginOffset)
		w.Int64("minOffset", h.MinOffset)
		w.Int64("maxOffset", h.MaxOffset)
	}
	if h.HasSysFlags {
		w.Int32("topicSysFlag", h.TopicSysFlag)
		w.Int32("groupSysFlag", h.GroupSysFlag)
	}
	if h.Forbidden != 0 {
		w.Int32("forbiddenType", h.Forbidden)
	}
}

// Decode reads an answer; Refused tells that it has no offsets.
func (h *PullResponse) Decode(f header.Fields) error {
	*h = PullResponse{Refused: true}
	var r fieldReader
	for i := range f {
		v := f[i].Value
		switch string(f[i].Key) {
		case "suggestWhichBrokerId":
			r.field = "suggestWhichBrokerId"
			h.SuggestBrokerID = r.int64(v)
		case "nextBeginOffset":
			r.field = "nextBeginOffset"
			h.NextBeginOffset, h.Refused = r.int64(v), false
		case "minOffset":
			r.field = "minOffset"
			h.MinOffset = r.int64(v)
		case "maxOffset":
			r.field = "maxOffset"
			h.MaxOffset = r.int64(v)
		case "topicSysFlag":
			r.field = "topicSysFlag"
			h.TopicSysFlag, h.HasSysFlags = r.int32(v), true
		case "groupSysFlag":
			r.field = "groupSysFlag"
			h.GroupSysFlag, h.HasSysFlags = r.int32(v), true
		case "forbiddenType":
			r.field = "forbiddenType"
			h.Forbidden = r.int32(v)
		}
	}
	return r.failed()
}
