// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestParseTagExpression(t *testing.T) {
	type row struct {
		Expression string
		Result     struct {
			SubString, Type, Error, Message string
			Tags                            []string
			Codes                           []int32
		}
	}
	for _, r := range golden[[]row](t, "tag_expressions.json") {
		got, err := protocol.ParseTagExpression("t", r.Expression)
		if r.Result.Error != "" {
			if e, ok := err.(*protocol.Error); !ok || e.Remark != r.Result.Message {
				t.Errorf("%q: %v, want %s", r.Expression, err, r.Result.Message)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", r.Expression, err)
			continue
		}
		want := &protocol.SubscriptionData{Topic: "t", SubString: r.Result.SubString, ExpressionType: r.Result.Type, TagsSet: r.Result.Tags, CodeSet: r.Result.Codes}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", r.Expression, diff)
		}
	}
}

func TestParseTagExpressionOfBars(t *testing.T) {
	for expression, wrong := range map[string]bool{"||": true, "||||": true, "|": false, "|||": false, "|| ||": false} {
		if _, err := protocol.ParseTagExpression("t", expression); (err != nil) != wrong {
			t.Errorf("%q: %v", expression, err)
		}
	}
}

// What clients of several languages put into a heartbeat for the same subscription.
func TestHeartbeatVariants(t *testing.T) {
	want := protocol.HeartbeatData{
		ClientID:        "c",
		ProducerDataSet: []protocol.ProducerData{{GroupName: "p"}},
		ConsumerDataSet: []protocol.ConsumerData{{
			ConsumeFromWhere: protocol.ConsumeFromFirstOffset, ConsumeType: protocol.ConsumePassively, GroupName: "g", MessageModel: protocol.Clustering,
			SubscriptionDataSet: []*protocol.SubscriptionData{
				{CodeSet: []int32{2598919}, ExpressionType: "TAG", SubString: "TagA", SubVersion: 1700000000000, TagsSet: []string{"TagA"}, Topic: "t"},
				{CodeSet: []int32{}, ExpressionType: "TAG", SubString: "*", SubVersion: 1, TagsSet: []string{}, Topic: "u"},
			},
		}},
	}
	for name, in := range map[string]string{
		"Java": `{"clientID":"c","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"g","messageModel":"CLUSTERING",
			"subscriptionDataSet":[{"classFilterMode":false,"codeSet":[2598919],"expressionType":"TAG","subString":"TagA","subVersion":1700000000000,"tagsSet":["TagA"],"topic":"t"},
			{"classFilterMode":false,"codeSet":[],"expressionType":"TAG","subString":"*","subVersion":1,"tagsSet":[],"topic":"u"}],"unitMode":false}],
			"heartbeatFingerprint":0,"producerDataSet":[{"groupName":"p"}],"withoutSub":false}`,
		"Go, codes as text, no tags": `{"clientID":"c","producerDataSet":[{"groupName":"p"}],"consumerDataSet":[{"groupName":"g","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET",
			"subscriptionDataSet":[{"ClassFilterMode":false,"topic":"t","subString":"TagA","tagsSet":["TagA"],"codeSet":["2598919"],"subVersion":1700000000000,"expressionType":"TAG"},
			{"ClassFilterMode":false,"topic":"u","subString":"*","tagsSet":[],"codeSet":[],"subVersion":1,"expressionType":"TAG"}],"unitMode":false}]}`,
		"C++, enums as numbers, sets left out": `{"clientID":"c","consumerDataSet":[{"consumeFromWhere":4,"consumeType":1,"groupName":"g","messageModel":1,
			"subscriptionDataSet":[{"subString":"TagA","subVersion":"1700000000000","topic":"t"},{"subString":"*","subVersion":"1","topic":"u"}]}],"producerDataSet":[{"groupName":"p"}]}` + "\n",
		"nulls": `{"clientID":"c","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"g","messageModel":"CLUSTERING",
			"subscriptionDataSet":[{"codeSet":null,"expressionType":null,"subString":"TagA","subVersion":1700000000000,"tagsSet":null,"topic":"t"},{"codeSet":null,"subString":null,"subVersion":1,"topic":"u"}]}],"producerDataSet":[{"groupName":"p"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var got protocol.HeartbeatData
			if err := javajson.Unmarshal([]byte(in), &got); err != nil {
				t.Fatal(err)
			}
			for _, c := range got.ConsumerDataSet {
				for _, s := range c.SubscriptionDataSet {
					s.Complete()
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestCompleteLeavesOtherKinds(t *testing.T) {
	for _, s := range []protocol.SubscriptionData{
		{ExpressionType: protocol.ExpressionSQL92, SubString: "a > 5"},
		{ExpressionType: protocol.ExpressionTag, SubString: "Some.class", ClassFilterMode: true},
		{ExpressionType: protocol.ExpressionTag, SubString: "a", CodeSet: []int32{7}, TagsSet: []string{"b"}},
	} {
		got := *s.Clone()
		got.Complete()
		if diff := cmp.Diff(s, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMatchesCode(t *testing.T) {
	two, err := protocol.ParseTagExpression("t", "TagA || TagB")
	if err != nil {
		t.Fatal(err)
	}
	all, err := protocol.ParseTagExpression("t", "*")
	if err != nil {
		t.Fatal(err)
	}
	blank, err := protocol.ParseTagExpression("t", " ")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		s    *protocol.SubscriptionData
		code int64
		want bool
	}{
		"first":                {two, 2598919, true},
		"second":               {two, 2598920, true},
		"other":                {two, 2598921, false},
		"no tag":               {two, 0, false},
		"delivery time":        {two, 2598919 + 1<<32, false},
		"everything, some tag": {all, 5, true},
		"everything, no tag":   {all, 0, true},
		"nothing but blanks":   {blank, 0, false},
		"a delivery time, all": {all, 1700000000000, true},
	} {
		if got := tt.s.MatchesCode(tt.code); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSubscriptionEqual(t *testing.T) {
	base := protocol.SubscriptionData{CodeSet: []int32{1, 2}, TagsSet: []string{"a", "b"}, SubString: "a||b", Topic: "t", ExpressionType: "TAG", SubVersion: 1}
	for name, tt := range map[string]struct {
		change func(*protocol.SubscriptionData)
		same   bool
	}{
		"nothing":    {func(*protocol.SubscriptionData) {}, true},
		"version":    {func(s *protocol.SubscriptionData) { s.SubVersion = 9 }, true},
		"order":      {func(s *protocol.SubscriptionData) { s.TagsSet, s.CodeSet = []string{"b", "a"}, []int32{2, 1} }, true},
		"expression": {func(s *protocol.SubscriptionData) { s.SubString = "a" }, false},
		"type":       {func(s *protocol.SubscriptionData) { s.ExpressionType = "SQL92" }, false},
		"topic":      {func(s *protocol.SubscriptionData) { s.Topic = "u" }, false},
		"codes":      {func(s *protocol.SubscriptionData) { s.CodeSet = []int32{1, 3} }, false},
		"fewer tags": {func(s *protocol.SubscriptionData) { s.TagsSet = s.TagsSet[:1] }, false},
		"class":      {func(s *protocol.SubscriptionData) { s.ClassFilterMode = true }, false},
	} {
		other := base.Clone()
		tt.change(other)
		if got := base.Equal(other); got != tt.same {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Standard is what route queries of recent clients get, so that any JSON reader can take it.
func TestRouteInStandardJSON(t *testing.T) {
	r := protocol.TopicRouteData{
		BrokerDatas:       []protocol.BrokerData{{BrokerAddrs: map[int64]string{0: "h:1", 10: "h:3", 2: "h:2"}, BrokerName: "b/é", Cluster: "c"}},
		FilterServerTable: map[string][]string{}, OrderTopicConf: "b:4", QueueDatas: []protocol.QueueData{{BrokerName: "b", Perm: 6, ReadQueueNums: 4, WriteQueueNums: 4}},
		TopicQueueMappingByBroker: map[string]*protocol.TopicQueueMappingInfo{"b": {BrokerName: "b", CurrIDMap: map[int32]int32{0: 0}, Scope: "__global__", Topic: "t"}},
	}
	want := `{"brokerDatas":[{"brokerAddrs":{"0":"h:1","2":"h:2","10":"h:3"},"brokerName":"b\/\u00E9","cluster":"c","enableActingMaster":false}],"filterServerTable":{},"orderTopicConf":"b:4",` +
		`"queueDatas":[{"brokerName":"b","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}],` +
		`"topicQueueMappingByBroker":{"b":{"bname":"b","currIdMap":{"0":0},"dirty":false,"epoch":0,"scope":"__global__","topic":"t","totalQueues":0}}}`
	got := javajson.Marshal(&r, javajson.Standard)
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if !json.Valid(got) {
		t.Error("no legal JSON")
	}
	if r.BrokerDatas[0].Master() != "h:1" {
		t.Errorf("master is %q", r.BrokerDatas[0].Master())
	}
}
