// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestConsumerList(t *testing.T) {
	r := start(t)
	g := r.group()
	r.call(protocol.GetConsumerListByGroup, ext{"consumerGroup": g}).is(protocol.SystemError, "no consumer for this group, "+g)
	r.join(r.dial(nil), "b", g, protocol.Clustering)
	r.join(r.dial(nil), "a", g, protocol.Clustering)
	r.join(r.dial(nil), "b", g, protocol.Clustering) // connected again
	if got := string(r.success(protocol.GetConsumerListByGroup, ext{"consumerGroup": g}).Body); got != `{"consumerIdList":["a","b"]}` {
		t.Fatal(got)
	}
}

func TestConnections(t *testing.T) {
	r := start(t)
	g, topic, c := r.group(), r.topic(), r.dial(nil)
	r.call(protocol.GetConsumerConnectionList, ext{"consumerGroup": g}).is(protocol.ConsumerNotOnline, "the consumer group["+g+"] not online")
	r.call(protocol.GetProducerConnectionList, ext{"producerGroup": "P"}).is(protocol.SystemError, "the producer group[P] not exist")
	r.join(c, "client", g, protocol.Clustering, subscription(t, topic, "*", 1))
	r.heartbeat(c, protocol.HeartbeatData{ClientID: "client", ProducerDataSet: []protocol.ProducerData{{GroupName: "P"}}})
	addr := r.members.Consumers(g).Members[0].Conn.RemoteAddr()

	got := string(r.success(protocol.GetConsumerConnectionList, ext{"consumerGroup": g}).Body)
	want := `{"connectionSet":[{"clientAddr":"` + addr + `","clientId":"client","language":"JAVA","version":513}],` +
		`"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","subscriptionTable":{"` + topic +
		`":{"classFilterMode":false,"codeSet":[],"expressionType":"TAG","subString":"*","subVersion":1,"tagsSet":[],"topic":"` + topic + `"}}}`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = string(r.success(protocol.GetProducerConnectionList, ext{"producerGroup": "P"}).Body)
	if d := cmp.Diff(`{"connectionSet":[{"clientAddr":"`+addr+`","clientId":"client","language":"JAVA","version":513}]}`, got); d != "" {
		t.Error(d)
	}
	var all protocol.ProducerTable
	r.success(protocol.GetAllProducerInfo, nil).decode(&all)
	if p := all.Data["P"]; len(p) != 1 || p[0].RemoteIP != "/"+addr || p[0].ClientID != "client" || p[0].LastUpdateTimestamp == 0 {
		t.Errorf("producers %+v", all)
	}
}

func TestWhoConsumesWhat(t *testing.T) {
	r := start(t)
	member, reader, topic, other := r.group(), r.group(), r.topic(), r.topic()
	r.join(r.dial(nil), "client", member, protocol.Clustering, subscription(t, topic, "*", 1))
	r.offsets.Commit(other, member, 0, 1)
	r.offsets.Commit(topic, reader, 0, 1)
	r.offsets.Commit(topic, member, 0, 1)

	var groups protocol.GroupList
	r.success(protocol.QueryTopicConsumeByWho, ext{"topic": topic}).decode(&groups)
	if d := cmp.Diff([]string{member, reader}, groups.GroupList); d != "" {
		t.Error(d)
	}
	var topics protocol.TopicList
	r.success(protocol.QueryTopicsByConsumer, ext{"group": member}).decode(&topics)
	if d := cmp.Diff([]string{topic, other}, topics.TopicList); d != "" || topics.BrokerAddr == "" {
		t.Errorf("%s, broker %q", d, topics.BrokerAddr)
	}
	if got := string(r.success(protocol.QueryTopicConsumeByWho, ext{"topic": "none"}).Body); got != `{"groupList":[]}` {
		t.Error(got)
	}
	got := string(r.success(protocol.QuerySubscriptionByConsumer, ext{"group": member, "topic": topic}).Body)
	if !strings.HasPrefix(got, `{"group":"`+member+`","subscriptionData":{"classFilterMode":false`) {
		t.Error(got)
	}
	got = string(r.success(protocol.QuerySubscriptionByConsumer, ext{"group": reader, "topic": topic}).Body)
	if got != `{"group":"`+reader+`","topic":"`+topic+`"}` {
		t.Error(got)
	}
}

func TestMissingFieldsAreNamed(t *testing.T) {
	r := start(t)
	for code, field := range map[int32]string{
		protocol.GetConsumerListByGroup: "consumerGroup", protocol.GetConsumerConnectionList: "consumerGroup",
		protocol.GetProducerConnectionList: "producerGroup", protocol.QueryTopicConsumeByWho: "topic",
		protocol.QueryTopicsByConsumer: "group", protocol.QuerySubscriptionByConsumer: "group", protocol.GetTopicConfig: "topic",
		protocol.UpdateAndCreateTopic: "topic", protocol.GetSubscriptionGroupConfig: "group", protocol.DeleteSubscriptionGroup: "groupName",
		protocol.UpdateAndGetGroupForbidden: "group", protocol.QueryConsumerOffset: "consumerGroup", protocol.UpdateConsumerOffset: "consumerGroup",
		protocol.GetMaxOffset: "topic", protocol.GetMinOffset: "topic", protocol.SearchOffsetByTimestamp: "topic",
		protocol.GetEarliestMsgStoreTime: "topic", protocol.InvokeBrokerToResetOffset: "topic", protocol.CloneGroupOffset: "srcGroup",
		protocol.QueryCorrectionOffset: "topic", protocol.GetConsumerRunningInfo: "consumerGroup",
		protocol.ConsumeMessageDirectly: "consumerGroup", protocol.InvokeBrokerToGetConsumerStatus: "topic",
		protocol.GetTopicStatsInfo: "topic", protocol.GetConsumeStats: "consumerGroup", protocol.QueryConsumeTimeSpan: "group",
		protocol.ViewBrokerStatsData: "statsName", protocol.QueryConsumeQueue: "topic",
	} {
		a := r.call(code, nil)
		if a.Code == protocol.Success || !strings.Contains(a.Remark, field) {
			t.Errorf("%s: %s %q", protocol.CodeName(code), protocol.ResponseName(a.Code), a.Remark)
		}
	}
}
