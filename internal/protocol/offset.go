// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import "github.com/goddard-mq/goddard/internal/header"

// QueryOffsetHeader of QUERY_CONSUMER_OFFSET (14).
type QueryOffsetHeader struct {
	ConsumerGroup     []byte
	Topic             []byte
	QueueID           int32
	SetZeroIfNotFound bool // true unless the request says false
}

// Decode reads the fields, which the slices alias. The error is a *header.FieldError.
func (h *QueryOffsetHeader) Decode(f header.Fields) error {
	*h = QueryOffsetHeader{SetZeroIfNotFound: true}
	var r fieldReader
	queue := false
	for i := range f {
		v := f[i].Value
		switch r.field = ""; string(f[i].Key) {
		case "consumerGroup":
			h.ConsumerGroup = v
		case "topic":
			h.Topic = v
		case "queueId":
			r.field, queue = "queueId", true
			h.QueueID = r.int32(v)
		case "setZeroIfNotFound":
			h.SetZeroIfNotFound = r.bool(v)
		}
	}
	requireNames(&r, h.ConsumerGroup, h.Topic)
	if !queue {
		r.missing("queueId")
	}
	return r.failed()
}

func requireNames(r *fieldReader, group, topic []byte) {
	if group == nil {
		r.missing("consumerGroup")
	}
	if topic == nil {
		r.missing("topic")
	}
}

// UpdateOffsetHeader of UPDATE_CONSUMER_OFFSET (15). Queue and offset are asked for by the handler, which knows what
// to say when they are missing.
type UpdateOffsetHeader struct {
	ConsumerGroup []byte
	Topic         []byte
	QueueID       int32
	CommitOffset  int64
	HasQueueID    bool
	HasOffset     bool
}

// Decode reads the fields, which the slices alias. The error is a *header.FieldError.
func (h *UpdateOffsetHeader) Decode(f header.Fields) error {
	*h = UpdateOffsetHeader{}
	var r fieldReader
	for i := range f {
		v := f[i].Value
		switch r.field = ""; string(f[i].Key) {
		case "consumerGroup":
			h.ConsumerGroup = v
		case "topic":
			h.Topic = v
		case "queueId":
			r.field, h.HasQueueID = "queueId", true
			h.QueueID = r.int32(v)
		case "commitOffset":
			r.field, h.HasOffset = "commitOffset", true
			h.CommitOffset = r.int64(v)
		}
	}
	requireNames(&r, h.ConsumerGroup, h.Topic)
	return r.failed()
}

// EncodeFields writes the request, for clients.
func (h *UpdateOffsetHeader) EncodeFields(w header.Writer) {
	w.Bytes("consumerGroup", h.ConsumerGroup)
	w.Bytes("topic", h.Topic)
	w.Int32("queueId", h.QueueID)
	w.Int64("commitOffset", h.CommitOffset)
}

// EncodeFields writes the request, for clients.
func (h *QueryOffsetHeader) EncodeFields(w header.Writer) {
	w.Bytes("consumerGroup", h.ConsumerGroup)
	w.Bytes("topic", h.Topic)
	w.Int32("queueId", h.QueueID)
	w.Bool("setZeroIfNotFound", h.SetZeroIfNotFound)
}

// QueueHeader of GET_MAX_OFFSET (30), GET_MIN_OFFSET (31) and GET_EARLIEST_MSG_STORETIME (32).
type QueueHeader struct {
	Topic   string `header:"topic,required"`
	QueueID int32  `header:"queueId,required"`
}

// SearchOffsetHeader of SEARCH_OFFSET_BY_TIMESTAMP (29).
type SearchOffsetHeader struct {
	Topic        string `header:"topic,required"`
	QueueID      int32  `header:"queueId,required"`
	Timestamp    int64  `header:"timestamp,required"` // ms
	BoundaryType string `header:"boundaryType"`       // upper in any case: the last at or before; else the first at or after
}

// OffsetAnswer carries the offset asked for (14, 29, 30, 31).
type OffsetAnswer struct{ Offset int64 }

var _ header.Encoder = OffsetAnswer{}

// EncodeFields writes the answer.
func (a OffsetAnswer) EncodeFields(w header.Writer) { w.Int64("offset", a.Offset) }

// TimestampAnswer carries the time asked for, ms (32).
type TimestampAnswer struct {
	Timestamp int64 `header:"timestamp"`
}

// ResetOffsetHeader of INVOKE_BROKER_TO_RESET_OFFSET (222), admin to broker, and RESET_CONSUMER_CLIENT_OFFSET (220),
// broker to consumer.
type ResetOffsetHeader struct {
	Topic     string `header:"topic,required"`
	Group     string `header:"group,required"`
	Timestamp int64  `header:"timestamp,required"` // ms; < 0: the end of each queue
	IsForce   bool   `header:"isForce,required"`   // also forwards
	QueueID   *int32 `header:"queueId"`            // < 0 or absent: all
	Offset    *int64 `header:"offset"`             // of the one queue, instead of the time
}

// ResetOffsetBody is the answer to 222 and the body of 220: new offsets by queue.
type ResetOffsetBody struct {
	OffsetTable map[MessageQueue]int64 `json:"offsetTable"`
}

// ResetOffsetList is ResetOffsetBody as C++ clients read it (RocketMQ: ResetOffsetBodyForC).
type ResetOffsetList struct {
	OffsetTable []QueueOffset `json:"offsetTable"`
}

// QueueOffset is an entry of a ResetOffsetList.
type QueueOffset struct {
	BrokerName string `json:"brokerName"`
	Offset     int64  `json:"offset"`
	QueueID    int32  `json:"queueId"`
	Topic      string `json:"topic"`
}

// CloneOffsetHeader of CLONE_GROUP_OFFSET (314).
type CloneOffsetHeader struct {
	SrcGroup  string `header:"srcGroup,required"`
	DestGroup string `header:"destGroup,required"`
	Topic     string `header:"topic"`
	Offline   bool   `header:"offline"` // also topics that the source group does not subscribe to now
}

// CorrectionOffsetHeader of QUERY_CORRECTION_OFFSET (308).
type CorrectionOffsetHeader struct {
	Topic        string `header:"topic,required"`
	CompareGroup string `header:"compareGroup,required"`
	FilterGroups string `header:"filterGroups"` // separated by commas: not looked at
}

// CorrectionOffsets is its answer: by queue the smallest offset of the groups, the largest int64 where CompareGroup is
// behind all of them.
type CorrectionOffsets struct {
	CorrectionOffsets map[int32]int64 `json:"correctionOffsets"`
}

// ConsumerOffsets is the answer to GET_ALL_CONSUMER_OFFSET (43): topic@group, queue, offset.
type ConsumerOffsets struct {
	DataVersion     DataVersion                `json:"dataVersion"`
	GroupTopicMap   map[string][]string        `json:"groupTopicMap"`
	OffsetTable     map[string]map[int32]int64 `json:"offsetTable"`
	PullOffsetTable map[string]map[int32]int64 `json:"pullOffsetTable"`
}
