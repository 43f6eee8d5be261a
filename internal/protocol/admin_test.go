// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// adminExchange is a request and its answer as they were seen on the wire.
type adminExchange struct {
	Code       int32
	From, To   string // release of the requester, of the answering server
	Direction  string
	Ext        map[string]string
	Body       string
	Answer     *int32
	AnswerExt  map[string]string
	AnswerBody string
}

func adminExchanges(t testing.TB) []adminExchange {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "admin_exchanges.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []adminExchange
	for s := bufio.NewScanner(f); s.Scan(); {
		var x adminExchange
		if err := json.Unmarshal(s.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	if len(all) < 100 {
		t.Fatalf("%d exchanges only", len(all))
	}
	return all
}

// shape is what travels with a code; nil for nothing.
type shape struct{ header, body, answerHeader, answerBody func() any }

func of[T any]() func() any { return func() any { return new(T) } }

// offsetAnswer is protocol.OffsetAnswer with the tags that a reader needs.
type offsetAnswer struct {
	Offset *int64 `header:"offset"`
}

var shapes = map[int32]shape{
	protocol.QueryConsumerOffset:                  {answerHeader: of[offsetAnswer]()},
	protocol.UpdateConsumerOffset:                 {},
	protocol.UpdateAndCreateTopic:                 {header: of[protocol.CreateTopicHeader]()},
	protocol.UpdateAndCreateTopicList:             {body: of[protocol.CreateTopicListBody]()},
	protocol.GetAllTopicConfig:                    {header: of[protocol.AllTopicConfigHeader](), answerHeader: of[protocol.AllTopicConfigAnswer]()},
	protocol.GetBrokerConfig:                      {answerHeader: of[protocol.BrokerConfigAnswer]()},
	protocol.SearchOffsetByTimestamp:              {header: of[protocol.SearchOffsetHeader](), answerHeader: of[offsetAnswer]()},
	protocol.GetMaxOffset:                         {header: of[protocol.QueueHeader](), answerHeader: of[offsetAnswer]()},
	protocol.GetMinOffset:                         {header: of[protocol.QueueHeader](), answerHeader: of[offsetAnswer]()},
	protocol.GetEarliestMsgStoreTime:              {header: of[protocol.QueueHeader](), answerHeader: of[protocol.TimestampAnswer]()},
	protocol.UnregisterClient:                     {header: of[protocol.UnregisterClientHeader]()},
	protocol.GetConsumerListByGroup:               {header: of[protocol.ConsumerGroupHeader](), answerBody: of[protocol.ConsumerIDList]()},
	protocol.NotifyConsumerIDsChanged:             {header: of[protocol.NotifyConsumerIDsChangedHeader]()},
	protocol.LockBatchMQ:                          {body: of[protocol.LockBatchBody](), answerBody: of[protocol.LockBatchAnswer]()},
	protocol.UnlockBatchMQ:                        {body: of[protocol.LockBatchBody]()},
	protocol.GetAllConsumerOffset:                 {answerBody: of[protocol.ConsumerOffsets]()},
	protocol.CheckClientConfig:                    {body: of[protocol.CheckClientBody]()},
	protocol.UpdateAndCreateSubscriptionGroup:     {body: of[protocol.SubscriptionGroupConfig]()},
	protocol.UpdateAndCreateSubscriptionGroupList: {body: of[protocol.SubscriptionGroupListBody]()},
	protocol.GetAllSubscriptionGroupConfig:        {header: of[protocol.AllGroupConfigHeader](), answerHeader: of[protocol.AllGroupConfigAnswer]()},
	protocol.GetTopicStatsInfo:                    {header: of[protocol.TopicHeader](), answerBody: of[protocol.TopicStats]()},
	protocol.DeleteSubscriptionGroup:              {header: of[protocol.DeleteGroupHeader]()},
	protocol.GetConsumeStats:                      {header: of[protocol.ConsumeStatsHeader](), answerBody: of[protocol.ConsumeStats]()},
	protocol.DeleteTopicInBroker:                  {header: of[protocol.TopicHeader]()},
	protocol.ResetConsumerClientOffset:            {header: of[protocol.ResetOffsetHeader](), body: of[protocol.ResetOffsetBody]()},
	protocol.GetConsumerStatusFromClient:          {header: of[protocol.ConsumerStatusHeader](), answerBody: of[protocol.ConsumerStatus]()},
	protocol.InvokeBrokerToResetOffset:            {header: of[protocol.ResetOffsetHeader](), answerBody: of[protocol.ResetOffsetBody]()},
	protocol.InvokeBrokerToGetConsumerStatus:      {header: of[protocol.ConsumerStatusHeader](), answerBody: of[protocol.ConsumerStatus]()},
	protocol.QueryTopicConsumeByWho:               {header: of[protocol.TopicHeader](), answerBody: of[protocol.GroupList]()},
	protocol.QueryConsumeTimeSpan:                 {header: of[protocol.GroupTopicHeader](), answerBody: of[protocol.ConsumeTimeSpans]()},
	protocol.QueryCorrectionOffset:                {header: of[protocol.CorrectionOffsetHeader](), answerBody: of[protocol.CorrectionOffsets]()},
	protocol.ConsumeMessageDirectly:               {header: of[protocol.ConsumerClientHeader]()},
	protocol.CloneGroupOffset:                     {header: of[protocol.CloneOffsetHeader]()},
	protocol.ViewBrokerStatsData:                  {header: of[protocol.BrokerStatsHeader](), answerBody: of[protocol.BrokerStatsData]()},
	protocol.GetBrokerConsumeStats:                {header: of[protocol.BrokerConsumeStatsHeader](), answerBody: of[protocol.ConsumeStatsList]()},
	protocol.QueryConsumeQueue:                    {header: of[protocol.QueryConsumeQueueHeader](), answerBody: of[protocol.ConsumeQueueData]()},
	protocol.GetAllProducerInfo:                   {answerBody: of[protocol.ProducerTable]()},
	protocol.QueryTopicsByConsumer:                {header: of[protocol.GroupHeader](), answerBody: of[protocol.TopicList]()},
	protocol.QuerySubscriptionByConsumer:          {header: of[protocol.GroupTopicHeader](), answerBody: of[protocol.SubscriptionOfGroup]()},
	protocol.GetTopicConfig:                       {header: of[protocol.TopicHeader](), answerBody: of[protocol.TopicConfigAndMapping]()},
	protocol.UpdateAndGetGroupForbidden:           {header: of[protocol.GroupForbiddenHeader](), answerBody: of[protocol.GroupForbidden]()},
	protocol.QueryAssignment:                      {body: of[protocol.QueryAssignmentBody](), answerBody: of[protocol.QueueAssignments]()},
	protocol.SetMessageRequestMode:                {body: of[protocol.MessageRequestMode]()},
	protocol.GetAllMessageRequestMode:             {answerBody: of[protocol.MessageRequestModes]()},
}

// unread fields are sent by clients and looked at by no broker.
var unread = map[string]bool{
	"ReqT": true, "bname": true, "lo": true, "ns": true, "nsd": true, "oway": true, "committed": true,
	"brokerName": true, "topicSysFlag": true, "groupSysFlag": true, // of 309: for the client
}

// fieldMap takes what an Encoder writes.
type fieldMap map[string]string

func (m fieldMap) Text(key, value string)         { m[key] = value }
func (m fieldMap) Bytes(key string, value []byte) { m[key] = string(value) }
func (m fieldMap) Int32(key string, value int32)  { m[key] = strconv.Itoa(int(value)) }
func (m fieldMap) Int64(key string, value int64)  { m[key] = strconv.FormatInt(value, 10) }
func (m fieldMap) Bool(key string, value bool)    { m[key] = strconv.FormatBool(value) }

func (m fieldMap) fields() header.Fields {
	var f header.Fields
	for k, v := range m {
		f.Add(k, v)
	}
	return f
}

// What Java peers of 4.9.7 and 5.5.0 put on the wire is read, and nothing of it is lost when it is written again.
func TestAdminExchanges(t *testing.T) {
	seen := map[int32]bool{}
	for _, x := range adminExchanges(t) {
		s, ok := shapes[x.Code]
		if !ok {
			t.Errorf("no shape for %s", protocol.CodeName(x.Code))
			continue
		}
		seen[x.Code] = true
		t.Run(protocol.CodeName(x.Code)+" from "+x.From, func(t *testing.T) {
			fieldsAgain(t, s.header, x.Ext)
			bodyAgain(t, s.body, x.Body, x.From)
			if x.Answer != nil && *x.Answer == protocol.Success {
				fieldsAgain(t, s.answerHeader, x.AnswerExt)
				answered := x.To
				if x.Direction == "broker>client" {
					answered = x.From
				}
				bodyAgain(t, s.answerBody, x.AnswerBody, "JAVA "+answered)
			}
		})
	}
	for code := range shapes {
		if !seen[code] {
			t.Errorf("no exchange of %s", protocol.CodeName(code))
		}
	}
}

func fieldsAgain(t *testing.T, make func() any, ext map[string]string) {
	t.Helper()
	if make == nil {
		return
	}
	v := make()
	if err := header.Decode(fieldMap(ext).fields(), v); err != nil {
		t.Fatal(err)
	}
	got := fieldMap{}
	header.Of(v).EncodeFields(got)
	for k, want := range ext {
		if got[k] != want && !unread[k] {
			t.Errorf("field %s came back as %q, was %q", k, got[k], want)
		}
	}
}

func bodyAgain(t *testing.T, make func() any, body, from string) {
	t.Helper()
	if make == nil || body == "" {
		return
	}
	v := make()
	if err := javajson.Unmarshal([]byte(body), v); err != nil {
		t.Fatal(err)
	}
	again := string(javajson.Marshal(v, javajson.Bare))
	if from == "JAVA 5.5.0" {
		if got, want := sorted(again), sorted(quoteMappings(body)); got != want {
			t.Errorf("written again\n got %s\nwant %s", got, want)
		}
		return
	}
	var before, after any
	if err := javajson.Unmarshal([]byte(body), &before); err != nil {
		t.Fatal(err)
	}
	if err := javajson.Unmarshal([]byte(again), &after); err != nil {
		t.Fatal(err)
	}
	if path := lost(before, after); path != "" {
		t.Errorf("lost %s of %s", path, body)
	}
}

// The hand-written headers read what clients send, and what they write.
func TestOffsetHeaders(t *testing.T) {
	for _, x := range adminExchanges(t) {
		f := fieldMap(x.Ext).fields()
		got := fieldMap{}
		switch x.Code {
		case protocol.QueryConsumerOffset:
			var h protocol.QueryOffsetHeader
			if err := h.Decode(f); err != nil {
				t.Fatal(err)
			}
			h.EncodeFields(got)
			if x.Ext["setZeroIfNotFound"] == "" {
				delete(got, "setZeroIfNotFound")
			}
		case protocol.UpdateConsumerOffset:
			var h protocol.UpdateOffsetHeader
			if err := h.Decode(f); err != nil {
				t.Fatal(err)
			}
			h.EncodeFields(got)
		default:
			continue
		}
		for k, want := range x.Ext {
			if got[k] != want && !unread[k] {
				t.Errorf("%s: field %s came back as %q, was %q", protocol.CodeName(x.Code), k, got[k], want)
			}
		}
	}
}

func TestFaultyOffsetHeaders(t *testing.T) {
	good := fieldMap{"consumerGroup": "g", "topic": "t", "queueId": "1", "commitOffset": "5"}
	var query protocol.QueryOffsetHeader
	var update protocol.UpdateOffsetHeader
	if err := query.Decode(good.fields()); err != nil || !query.SetZeroIfNotFound || query.QueueID != 1 {
		t.Fatalf("%+v, %v", query, err)
	}
	if err := update.Decode(good.fields()); err != nil || !update.HasQueueID || !update.HasOffset || update.CommitOffset != 5 {
		t.Fatalf("%+v, %v", update, err)
	}
	for field, value := range map[string]string{"consumerGroup": "", "topic": "", "queueId": "x", "commitOffset": "99999999999999999999"} {
		bad := fieldMap{}
		for k, v := range good {
			bad[k] = v
		}
		if bad[field] = value; value == "" {
			delete(bad, field)
		}
		if err := update.Decode(bad.fields()); fieldOf(err) != field {
			t.Errorf("update without a good %s: %v", field, err)
		}
		if err := query.Decode(bad.fields()); field != "commitOffset" && fieldOf(err) != field {
			t.Errorf("query without a good %s: %v", field, err)
		}
	}
}

func fieldOf(err error) string {
	if e, ok := err.(*header.FieldError); ok {
		return e.Field
	}
	return ""
}

func FuzzOffsetHeaders(f *testing.F) {
	f.Add("consumerGroup", "g", "queueId", "1", "setZeroIfNotFound", "FALSE")
	f.Add("topic", "t", "commitOffset", "-1", "queueId", "+7")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, k3, v3 string) {
		m := fieldMap{"consumerGroup": "g", "topic": "t", "queueId": "0", k1: v1, k2: v2, k3: v3}
		var query, queryAgain protocol.QueryOffsetHeader
		if query.Decode(m.fields()) == nil {
			w := fieldMap{}
			query.EncodeFields(w)
			if err := queryAgain.Decode(w.fields()); err != nil || query.QueueID != queryAgain.QueueID || query.SetZeroIfNotFound != queryAgain.SetZeroIfNotFound {
				t.Errorf("%+v was read back as %+v, %v", query, queryAgain, err)
			}
		}
		var update, updateAgain protocol.UpdateOffsetHeader
		if update.Decode(m.fields()) == nil {
			w := fieldMap{}
			update.EncodeFields(w)
			if err := updateAgain.Decode(w.fields()); err != nil || update.QueueID != updateAgain.QueueID || update.CommitOffset != updateAgain.CommitOffset {
				t.Errorf("%+v was read back as %+v, %v", update, updateAgain, err)
			}
		}
	})
}
