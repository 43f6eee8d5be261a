// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

type constants struct {
	Perm []struct {
		Perm                                                       int32
		Text                                                       string
		Readable, Writable, Inherited, Valid, Accessible, Priority bool
	}
	Version                   map[string]int32
	CurrentVersion            int32
	RequestCode, ResponseCode map[string]int32
	TopicFilterType           []struct {
		Name    string
		Ordinal int
	}
}

func TestConstants(t *testing.T) {
	c := golden[constants](t, "constants.json")
	for name, code := range c.RequestCode {
		if got := protocol.CodeName(code); got != name {
			t.Errorf("request code %d is %s, want %s", code, got, name)
		}
	}
	for name, code := range c.ResponseCode {
		if got := protocol.ResponseName(code); got != name {
			t.Errorf("response code %d is %s, want %s", code, got, name)
		}
	}
	for name, ordinal := range c.Version {
		if got := protocol.VersionName(ordinal); got != name {
			t.Errorf("version %d is %s, want %s", ordinal, got, name)
		}
	}
	if protocol.CurrentVersion != c.CurrentVersion {
		t.Errorf("current version %d, want %d", protocol.CurrentVersion, c.CurrentVersion)
	}
	for _, ordinal := range []int32{613, 100000, -1} {
		if got := protocol.VersionName(ordinal); got != "HIGHER_VERSION" {
			t.Errorf("version %d is %s", ordinal, got)
		}
	}
	if got := protocol.CodeName(9999) + " " + protocol.ResponseName(-5); got != "9999 -5" {
		t.Errorf("unknown codes are %s", got)
	}
	for _, f := range c.TopicFilterType {
		if got := protocol.SingleTag.JSONNames()[f.Ordinal]; got != f.Name {
			t.Errorf("filter type %d is %s", f.Ordinal, got)
		}
	}
}

func TestPerm(t *testing.T) {
	for _, p := range golden[constants](t, "constants.json").Perm {
		if got := protocol.PermText(p.Perm); got != p.Text {
			t.Errorf("%d: %s, want %s", p.Perm, got, p.Text)
		}
		got := []bool{protocol.CanRead(p.Perm), protocol.CanWrite(p.Perm), protocol.CanInherit(p.Perm), protocol.ValidPerm(p.Perm), protocol.Accessible(p.Perm), protocol.HasPriority(p.Perm)}
		if diff := cmp.Diff([]bool{p.Readable, p.Writable, p.Inherited, p.Valid, p.Accessible, p.Priority}, got); diff != "" {
			t.Errorf("%d: %s", p.Perm, diff)
		}
	}
	if protocol.ValidPerm(-1) {
		t.Error("-1 is valid")
	}
}

func TestError(t *testing.T) {
	var err error = protocol.Errorf(protocol.TopicNotExist, "topic[%s] not exist", "t")
	if got := err.Error(); got != "TOPIC_NOT_EXIST (17): topic[t] not exist" {
		t.Error(got)
	}
	if got := (&protocol.Error{Code: 4711}).Error(); got != "4711 (4711)" {
		t.Error(got)
	}
	for want, err := range map[int32]error{
		protocol.Success: nil, protocol.TopicNotExist: fmt.Errorf("ask: %w", err), protocol.SystemError: errors.New("disk"),
	} {
		if got := protocol.CodeOf(err); got != want {
			t.Errorf("%v: %d", err, got)
		}
	}
}

func TestDataVersion(t *testing.T) {
	at := time.UnixMilli(1700000000000)
	v := protocol.NewDataVersion(at)
	w := v
	w.Advance(at.Add(time.Second), 3)
	if diff := cmp.Diff(protocol.DataVersion{Counter: 1, StateVersion: 3, Timestamp: 1700000001000}, w); diff != "" {
		t.Error(diff)
	}
	if v.Equal(w) || !v.Equal(protocol.DataVersion{Timestamp: 1700000000000}) {
		t.Error("equality")
	}
	ascending := []protocol.DataVersion{{9, 0, 9}, {1, 1, 5}, {2, 1, 1}, {2, 1, 2}, {0, 2, 0}}
	if !slices.IsSortedFunc(ascending, protocol.DataVersion.Compare) {
		t.Errorf("not ascending: %v", ascending)
	}
}

func TestMessageQueueOrder(t *testing.T) {
	ascending := []protocol.MessageQueue{{"b", 10, "s"}, {"a", 9, "t"}, {"a", 10, "t"}, {"b", 0, "t"}}
	if !slices.IsSortedFunc(ascending, protocol.MessageQueue.Compare) {
		t.Errorf("not ascending: %v", ascending)
	}
	if got := ascending[0].String(); got != "MessageQueue [topic=s, brokerName=b, queueId=10]" {
		t.Error(got)
	}
}

// The texts of the answers that a broker of 5.5.0 gives to GET_TOPIC_CONFIG and GET_SUBSCRIPTIONGROUP_CONFIG.
func TestConfigsAreWhatJavaWrites(t *testing.T) {
	topic := protocol.NewTopicConfig("T")
	topic.Order, topic.ReadQueueNums, topic.WriteQueueNums = true, 3, 2
	policy := protocol.NewSubscriptionGroupConfig("g")
	policy.RetryMaxTimes = 3
	policy.GroupRetryPolicy = &protocol.GroupRetryPolicy{Type: protocol.RetryExponential, ExponentialRetryPolicy: &protocol.ExponentialRetryPolicy{Initial: 5000, Max: 7200000, Multiplier: 2}}
	for want, v := range map[string]any{
		`{"attributes":{},"order":true,"perm":6,"readQueueNums":3,"topicFilterType":"SINGLE_TAG","topicName":"T","topicSysFlag":0,"writeQueueNums":2}`:                                                                                                                                                                                                                                                                                        topic,
		`{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"g","groupRetryPolicy":{"type":"CUSTOMIZED"},"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}`:                                                                        protocol.NewSubscriptionGroupConfig("g"),
		`{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"g","groupRetryPolicy":{"exponentialRetryPolicy":{"initial":5000,"max":7200000,"multiplier":2},"type":"EXPONENTIAL"},"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":3,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}`: policy,
		`{"table":{"b":"1"}}`:                    protocol.KVTable{Table: map[string]string{"b": "1"}},
		`{"topicList":[]}`:                       protocol.TopicList{TopicList: []string{}},
		`{"brokerAddr":"h:1","topicList":["t"]}`: protocol.TopicList{BrokerAddr: "h:1", TopicList: []string{"t"}},
		`{"groupList":["g"]}`:                    protocol.GroupList{GroupList: []string{"g"}},
		`{}`:                                     protocol.BrokerMemberGroupBody{},
		`{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"b","cluster":"c"}}`: protocol.BrokerMemberGroupBody{BrokerMemberGroup: &protocol.BrokerMemberGroup{BrokerAddrs: map[int64]string{}, BrokerName: "b", Cluster: "c"}},
	} {
		if got := string(javajson.Marshal(v, javajson.Bare)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestConfigCopies(t *testing.T) {
	topic := protocol.NewTopicConfig("t")
	copied := topic.Clone()
	if !copied.Equal(topic) {
		t.Error("the copy of a topic differs")
	}
	copied.Attributes["a"] = "b"
	if len(topic.Attributes) != 0 || copied.Equal(topic) {
		t.Error("the copy of a topic shares attributes")
	}
	bare := topic.Clone()
	bare.Attributes = nil
	if !bare.Equal(topic) {
		t.Error("no attributes and empty ones differ")
	}

	group := protocol.NewSubscriptionGroupConfig("g")
	group.GroupRetryPolicy.CustomizedRetryPolicy = &protocol.CustomizedRetryPolicy{Next: []int64{1000}}
	group.GroupRetryPolicy.ExponentialRetryPolicy = &protocol.ExponentialRetryPolicy{Initial: 1}
	group.SubscriptionDataSet = []protocol.SimpleSubscriptionData{{Topic: "t"}}
	before := javajson.Marshal(group, javajson.Bare)
	other := group.Clone()
	if diff := cmp.Diff(group, other); diff != "" {
		t.Error(diff)
	}
	other.Attributes["a"] = "b"
	other.GroupRetryPolicy.CustomizedRetryPolicy.Next[0] = 5
	other.GroupRetryPolicy.ExponentialRetryPolicy.Initial = 5
	other.SubscriptionDataSet[0].Topic = "u"
	if after := javajson.Marshal(group, javajson.Bare); string(after) != string(before) {
		t.Errorf("the copy of a group shares parts:\n %s\n %s", before, after)
	}
}
