// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"math/bits"

	"github.com/goddard-mq/goddard/internal/header"
)

// SendRequest is the header of SEND_MESSAGE (10) and SEND_REPLY_MESSAGE (324) in long names, of SEND_MESSAGE_V2 (310),
// SEND_BATCH_MESSAGE (320) and SEND_REPLY_MESSAGE_V2 (325) in single letters (RocketMQ: SendMessageRequestHeader,
// SendMessageRequestHeaderV2). The body is the message's, or a client batch when Batch is set, whatever the code.
//
// Decoded byte slices alias the fields. As an Encoder it writes the single letters; V1 gives the other form.
type SendRequest struct {
	ProducerGroup         []byte
	Topic                 []byte
	DefaultTopic          []byte // template for a topic that does not exist yet: TBW102
	DefaultTopicQueueNums int32  // queues wanted for it
	QueueID               int32  // < 0: the broker picks one
	SysFlag               int32
	BornTimestamp         int64 // ms
	Flag                  int32
	Properties            []byte
	ReconsumeTimes        int32
	UnitMode              bool
	MaxReconsumeTimes     int32
	HasMaxReconsumeTimes  bool
	Batch                 bool
	BrokerName            []byte // that the client believes it talks to
}

var _ header.Encoder = (*SendRequest)(nil)

// The fields of both forms, in the order of SendRequest.
var (
	sendNamesV1 = [...]string{
		"producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag",
		"properties", "reconsumeTimes", "unitMode", "maxReconsumeTimes", "batch", "bname",
	}
	sendNamesV2 = [...]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"}
)

// sendRequired are the first eight fields.
const sendRequired = 1<<8 - 1

// DecodeV1 reads the long names. The error is a *header.FieldError.
func (h *SendRequest) DecodeV1(f header.Fields) error {
	*h = SendRequest{}
	var r fieldReader
	seen := 0
	for i := range f {
		n := sendFieldV1(f[i].Key)
		if n < 0 {
			continue
		}
		seen |= 1 << n
		r.field = sendNamesV1[n]
		h.set(&r, n, f[i].Value)
	}
	requireSendFields(&r, seen)
	return r.failed()
}

// DecodeV2 reads the single letters. The error is a *header.FieldError that gives the long name.
func (h *SendRequest) DecodeV2(f header.Fields) error {
	*h = SendRequest{}
	var r fieldReader
	seen := 0
	for i := range f {
		k := f[i].Key
		if len(k) != 1 || k[0] < 'a' || k[0] > 'n' {
			continue
		}
		n := int(k[0] - 'a')
		seen |= 1 << n
		r.field = sendNamesV1[n]
		h.set(&r, n, f[i].Value)
	}
	requireSendFields(&r, seen)
	return r.failed()
}

func sendFieldV1(key []byte) int {
	for i, name := range sendNamesV1 {
		if string(key) == name {
			return i
		}
	}
	return -1
}

func (h *SendRequest) set(r *fieldReader, n int, v []byte) {
	switch n {
	case 0:
		h.ProducerGroup = v
	case 1:
		h.Topic = v
	case 2:
		h.DefaultTopic = v
	case 3:
		h.DefaultTopicQueueNums = r.int32(v)
	case 4:
		h.QueueID = r.int32(v)
	case 5:
		h.SysFlag = r.int32(v)
	case 6:
		h.BornTimestamp = r.int64(v)
	case 7:
		h.Flag = r.int32(v)
	case 8:
		h.Properties = v
	case 9:
		h.ReconsumeTimes = r.int32(v)
	case 10:
		h.UnitMode = r.bool(v)
	case 11:
		h.MaxReconsumeTimes, h.HasMaxReconsumeTimes = r.int32(v), true
	case 12:
		h.Batch = r.bool(v)
	case 13:
		h.BrokerName = v
	}
}

func requireSendFields(r *fieldReader, seen int) {
	if missing := sendRequired &^ seen; missing != 0 {
		r.missing(sendNamesV1[bits.TrailingZeros(uint(missing))])
	}
}

// EncodeFields writes the single letters.
func (h *SendRequest) EncodeFields(w header.Writer) { h.encode(w, &sendNamesV2) }

func (h *SendRequest) encode(w header.Writer, names *[14]string) {
	w.Bytes(names[0], h.ProducerGroup)
	w.Bytes(names[1], h.Topic)
	w.Bytes(names[2], h.DefaultTopic)
	w.Int32(names[3], h.DefaultTopicQueueNums)
	w.Int32(names[4], h.QueueID)
	w.Int32(names[5], h.SysFlag)
	w.Int64(names[6], h.BornTimestamp)
	w.Int32(names[7], h.Flag)
	w.Bytes(names[8], h.Properties)
	w.Int32(names[9], h.ReconsumeTimes)
	w.Bool(names[10], h.UnitMode)
	if h.HasMaxReconsumeTimes {
		w.Int32(names[11], h.MaxReconsumeTimes)
	}
	w.Bool(names[12], h.Batch)
	writeNotEmpty(w, names[13], h.BrokerName)
}

// V1 gives an Encoder of the long names.
func (h *SendRequest) V1() header.Encoder { return (*sendRequestV1)(h) }

type sendRequestV1 SendRequest

func (h *sendRequestV1) EncodeFields(w header.Writer) { (*SendRequest)(h).encode(w, &sendNamesV1) }

// SendResponse is the header of the answer to any of them. Clients need the queue id and offset with SUCCESS and with the
// three codes that mean "stored, but" (10, 11, 12); refusals carry Region and TraceOn only.
type SendResponse struct {
	MessageID     []byte // offset id; of a batch: one for each message, joined by commas
	QueueID       int32  // that was asked for, also when the message waits elsewhere
	QueueOffset   int64  // of the first message; in the staging queue when it is delayed
	TransactionID []byte // its UNIQ_KEY
	BatchUniqueID []byte
	RecallHandle  []byte
	Region        string // MSG_REGION; "": left out, with TraceOn
	TraceOn       bool   // TRACE_ON
	Refused       bool   // write Region and TraceOn only
}

var _ header.Encoder = (*SendResponse)(nil)

// EncodeFields writes what is set.
func (h *SendResponse) EncodeFields(w header.Writer) {
	if h.Region != "" {
		w.Text("MSG_REGION", h.Region)
		w.Bool("TRACE_ON", h.TraceOn)
	}
	if h.Refused {
		return
	}
	w.Bytes("msgId", h.MessageID)
	w.Int32("queueId", h.QueueID)
	w.Int64("queueOffset", h.QueueOffset)
	writeNotEmpty(w, "transactionId", h.TransactionID)
	writeNotEmpty(w, "batchUniqId", h.BatchUniqueID)
	writeNotEmpty(w, "recallHandle", h.RecallHandle)
}

func writeNotEmpty(w header.Writer, name string, value []byte) {
	if len(value) > 0 {
		w.Bytes(name, value)
	}
}

// Decode reads an answer; its slices alias the fields. Nothing is required: refusals have less.
func (h *SendResponse) Decode(f header.Fields) error {
	*h = SendResponse{}
	var r fieldReader
	for i := range f {
		v := f[i].Value
		switch string(f[i].Key) {
		case "msgId":
			h.MessageID = v
		case "queueId":
			r.field = "queueId"
			h.QueueID = r.int32(v)
		case "queueOffset":
			r.field = "queueOffset"
			h.QueueOffset = r.int64(v)
		case "transactionId":
			h.TransactionID = v
		case "batchUniqId":
			h.BatchUniqueID = v
		case "recallHandle":
			h.RecallHandle = v
		case "MSG_REGION":
			h.Region = string(v)
		case "TRACE_ON":
			h.TraceOn = r.bool(v)
		}
	}
	return r.failed()
}

// SendBackRequest is the header of CONSUMER_SEND_MSG_BACK (36): a consumer did not manage a message and wants it again
// (RocketMQ: ConsumerSendMsgBackRequestHeader). The answer has no header.
type SendBackRequest struct {
	Offset            int64  `header:"offset,required"` // of the message in the commit log
	Group             string `header:"group,required"`
	DelayLevel        int32  `header:"delayLevel,required"` // 0: by how often it was consumed; < 0: to the dead letters
	OriginMessageID   string `header:"originMsgId"`
	OriginTopic       string `header:"originTopic"`
	UnitMode          bool   `header:"unitMode"`
	MaxReconsumeTimes *int32 `header:"maxReconsumeTimes"`       // counts from clients of V3_4_9 on
	FailureReason     string `header:"failureReason,omitempty"` // why the consumer did not manage it; only Goddard looks at it
}

// PushReplyRequest is the header of PUSH_REPLY_MESSAGE_TO_CLIENT (326): the broker hands a reply to the client that asked
// (RocketMQ: ReplyMessageRequestHeader). The body is the message's; the client answers SUCCESS or SYSTEM_ERROR.
type PushReplyRequest struct {
	ProducerGroup         string `header:"producerGroup,required"`
	Topic                 string `header:"topic,required"`
	DefaultTopic          string `header:"defaultTopic,required"`
	DefaultTopicQueueNums int32  `header:"defaultTopicQueueNums,required"`
	QueueID               int32  `header:"queueId,required"`
	SysFlag               int32  `header:"sysFlag,required"`
	BornTimestamp         int64  `header:"bornTimestamp,required"` // ms
	Flag                  int32  `header:"flag,required"`
	Properties            string `header:"properties"`
	ReconsumeTimes        int32  `header:"reconsumeTimes"`
	UnitMode              bool   `header:"unitMode"`
	BornHost              string `header:"bornHost,required"`  // ip:port
	StoreHost             string `header:"storeHost,required"` // ip:port
	StoreTimestamp        int64  `header:"storeTimestamp,required"`
}
