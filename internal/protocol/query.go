// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// UniqueKeyQuery is the extension field of QUERY_MESSAGE that says whether the key is a UNIQ_KEY ("true").
const UniqueKeyQuery = "_UNIQUE_KEY_QUERY"

// QueryRequest is the header of QUERY_MESSAGE (12) (RocketMQ: QueryMessageRequestHeader). The answer's body is the records
// found, one after another.
type QueryRequest struct {
	Topic          string `header:"topic,required"`
	Key            string `header:"key,required"`
	MaxNum         int32  `header:"maxNum,required"`
	BeginTimestamp int64  `header:"beginTimestamp,required"` // ms, inclusive
	EndTimestamp   int64  `header:"endTimestamp,required"`   // ms, inclusive
	IndexType      string `header:"indexType,omitempty"`     // K keys, U unique key, T tags; from 5.5 on
	LastKey        string `header:"lastKey,omitempty"`
	UniqueKey      bool   `header:"_UNIQUE_KEY_QUERY"`
}

// QueryResponse is the header of the answer: how far the index has come.
type QueryResponse struct {
	IndexLastUpdateTimestamp int64 `header:"indexLastUpdateTimestamp,required"` // ms
	IndexLastUpdateOffset    int64 `header:"indexLastUpdatePhyoffset,required"`
}

// ViewRequest is the header of VIEW_MESSAGE_BY_ID (33) (RocketMQ: ViewMessageRequestHeader). The answer's body is the record.
type ViewRequest struct {
	Offset int64  `header:"offset,required"` // in the commit log
	Topic  string `header:"topic"`
}
