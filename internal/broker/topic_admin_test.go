// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/broker/offset"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func topicExt(name string, more ext) ext {
	e := ext{
		"topic": name, "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicFilterType": "SINGLE_TAG",
		"topicSysFlag": 0, "order": false,
	}
	for k, v := range more {
		e[k] = v
	}
	return e
}

func TestCreateTopic(t *testing.T) {
	r := start(t)
	topic := name("T")
	r.call(protocol.UpdateAndCreateTopic, topicExt(topic, ext{"readQueueNums": 3, "writeQueueNums": 2, "order": "true"})).is(protocol.Success, "")
	got := string(r.success(protocol.GetTopicConfig, ext{"topic": topic, "lo": true}).Body)
	want := `{"attributes":{},"order":true,"perm":6,"readQueueNums":3,"topicFilterType":"SINGLE_TAG","topicName":"` + topic + `","topicSysFlag":0,"writeQueueNums":2}`
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	v := r.topics.Version()
	r.call(protocol.UpdateAndCreateTopic, topicExt(topic, ext{"readQueueNums": 3, "writeQueueNums": 2, "order": "true"})).is(protocol.Success, "")
	if r.topics.Version() != v {
		t.Fatal("the same settings are a change")
	}
}

func TestTopicNames(t *testing.T) {
	r := start(t)
	const illegal = ", contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
	for topic, remark := range map[string]string{
		"a b": "The specified topic: a b" + illegal, "a.b": "The specified topic: a.b" + illegal, "é": "The specified topic: é" + illegal,
		"":                       "The specified topic is blank.",
		strings.Repeat("x", 128): "The specified topic: " + strings.Repeat("x", 128) + ", is longer than topic max length: 127",
		"TBW102":                 "The topic[TBW102] is conflict with system topic.",
		"SCHEDULE_TOPIC_XXXX":    "The topic[SCHEDULE_TOPIC_XXXX] is conflict with system topic.",
		"DefaultCluster":         "The topic[DefaultCluster] is conflict with system topic.",
		"broker-a":               "The topic[broker-a] is conflict with system topic.",
		"rmq_sys_x":              "The topic[rmq_sys_x] is conflict with system topic.",
	} {
		r.call(protocol.UpdateAndCreateTopic, topicExt(topic, nil)).is(protocol.InvalidParameter, remark)
	}
	for _, topic := range []string{
		"%RETRY%" + strings.Repeat("g", 120), "%DLQ%" + strings.Repeat("g", 250), strings.Repeat("x", 127), "a|b", "a%b-c_d",
	} {
		r.call(protocol.UpdateAndCreateTopic, topicExt(topic, nil)).is(protocol.Success, "")
	}
}

// RocketMQ takes any permission and any number of queues; what then needs to go through the queues must not hang.
func TestTopicValuesAreNotChecked(t *testing.T) {
	r := start(t)
	for _, e := range []ext{{"perm": 15}, {"perm": -1}, {"readQueueNums": 0}, {"readQueueNums": -1}, {"writeQueueNums": 1<<31 - 1}} {
		topic := name("T")
		r.call(protocol.UpdateAndCreateTopic, topicExt(topic, e)).is(protocol.Success, "")
		r.success(protocol.GetTopicStatsInfo, ext{"topic": topic})
	}
	r.call(protocol.UpdateAndCreateTopic, topicExt(name("T"), ext{"topicFilterType": "X"})).is(protocol.SystemError, "topicFilterType = [X] value invalid")
}

func TestTopicAttributes(t *testing.T) {
	r := start(t)
	topic := name("T")
	set := func(topic, attributes string) answer {
		return r.call(protocol.UpdateAndCreateTopic, topicExt(topic, ext{"attributes": attributes}))
	}
	set(topic, "+cleanup.policy=DELETE").is(protocol.Success, "")
	set(topic, "+message.type=DELAY").is(protocol.Success, "")
	set(topic, "+cleanup.policy=COMPACTION").is(protocol.SystemError, "attempt to update an unchangeable attribute. key: cleanup.policy")
	set(name("T"), "+no.such=1").is(protocol.SystemError, "unsupported key: no.such")
	set(name("T"), "+message.type=MIXED").is(protocol.InvalidParameter, "MIXED message type is not supported.")
	r.set(func(c *Config) { c.Topics.MixedMessageType = true })
	set(name("T"), "+message.type=MIXED").is(protocol.Success, "")
	if d := cmp.Diff(map[string]string{"cleanup.policy": "DELETE", "message.type": "DELAY"}, r.topics.Get(topic).Attributes); d != "" {
		t.Fatal(d)
	}
}

func TestCreateTopicList(t *testing.T) {
	r := start(t)
	a, b := name("T"), name("T")
	list := func(items string) answer {
		return r.call(protocol.UpdateAndCreateTopicList, nil, text(`{"topicConfigList":[`+items+`]}`)...)
	}
	one := `{"topicName":"` + a + `","readQueueNums":2,"writeQueueNums":2}`
	list(one).is(protocol.Success, "")
	list(one+`,{"topicName":"`+b+`","attributes":{"+message.type":"FIFO"},"order":true}`).is(protocol.Success, "")
	if c := r.topics.Get(b); c == nil || c.MessageType != "FIFO" || !c.Order || c.ReadQueueNums != 16 {
		t.Fatalf("got %+v", c)
	}
	c := name("T")
	list(`{"topicName":"`+c+`"},{"topicName":"bad name"}`).is(protocol.InvalidParameter,
		"The specified topic: bad name, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$")
	if r.topics.Get(c) != nil {
		t.Fatal("half of a refused list was taken")
	}
	list("null").is(protocol.InvalidParameter, "The specified topic is blank.")
}

func TestDeleteTopic(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	pop := "%RETRY%" + g + "_" + topic
	r.call(protocol.UpdateAndCreateTopic, topicExt(pop, nil)).is(protocol.Success, "")
	r.fill(topic, 2, "")
	r.offsets.Commit(topic, g, 0, 2)
	r.offsets.SetPulled([]byte(topic), []byte(g), 0, offset.Pull{Next: 2})
	r.offsets.Reset(topic, g, 0, 1)
	r.call(protocol.DeleteTopicInBroker, ext{"topic": topic}).is(protocol.Success, "")
	for _, gone := range []string{topic, pop} {
		r.call(protocol.GetTopicConfig, ext{"topic": gone}).is(protocol.TopicNotExist, "No topic in this broker. topic: "+gone)
	}
	if a := r.pull(topic, g, 0, nil); a.Code != protocol.TopicNotExist {
		t.Errorf("pull: %d", a.Code)
	}
	if _, ok := r.offsets.Query(topic, g, 0); ok || r.offsets.PendingReset([]byte(topic), []byte(g), 0) {
		t.Error("its progress is still there")
	}
	// Created again it begins anew (a live group goes on with what is sent from now on).
	r.call(protocol.UpdateAndCreateTopic, topicExt(topic, nil)).is(protocol.Success, "")
	if got := r.success(protocol.GetMaxOffset, ext{"topic": topic, "queueId": 0}).ext("offset"); got != "0" {
		t.Errorf("it begins at %s", got)
	}
	r.fill(topic, 1, "")
	if got := r.pull(topic, g, 0, nil).bodies(); got != "m0" {
		t.Errorf("read %q", got)
	}
	r.call(protocol.DeleteTopicInBroker, ext{"topic": name("none")}).is(protocol.Success, "")
	r.call(protocol.DeleteTopicInBroker, ext{"topic": ""}).is(protocol.InvalidParameter, "The specified topic is blank.")
	r.call(protocol.DeleteTopicInBroker, nil).is(protocol.InvalidParameter, "The specified topic is blank.")
	r.call(protocol.DeleteTopicInBroker, ext{"topic": "TBW102"}).is(protocol.InvalidParameter, "The topic[TBW102] is conflict with system topic.")
}

// A deleted topic must not come back with a restart, nor its old messages with it.
func TestDeletedTopicStaysAway(t *testing.T) {
	r := start(t)
	topic := r.topic()
	r.fill(topic, 3, "")
	r.call(protocol.DeleteTopicInBroker, ext{"topic": topic}).is(protocol.Success, "")
	r.success(protocol.GetMaxOffset, ext{"topic": topic, "queueId": 0})
	r.stop()
	again := startWith(t, r.cfg)
	again.call(protocol.GetTopicConfig, ext{"topic": topic}).is(protocol.TopicNotExist, "No topic in this broker. topic: "+topic)
	if got := again.success(protocol.GetMaxOffset, ext{"topic": topic, "queueId": 0}).ext("offset"); got != "0" {
		t.Errorf("its queue has %s messages", got)
	}
}

func TestAllTopicsInPages(t *testing.T) {
	r := start(t)
	for range 20 {
		r.topic()
	}
	var all, page protocol.TopicConfigWrapper
	a := r.success(protocol.GetAllTopicConfig, nil)
	a.decode(&all)
	if a.ext("totalTopicNum") == "" || len(all.TopicConfigTable) != r.topics.Len() || all.MappingDataVersion == nil {
		t.Fatalf("%s topics, %d in the body", a.ext("totalTopicNum"), len(all.TopicConfigTable))
	}
	got := map[string]*protocol.TopicConfig{}
	version := ""
	for seq := 0; seq < r.topics.Len(); seq += 7 {
		a := r.success(protocol.GetAllTopicConfig, ext{"topicSeq": seq, "dataVersion": version, "maxTopicNum": 7})
		a.decode(&page)
		for n, c := range page.TopicConfigTable {
			got[n] = c
		}
		version = `{"counter":` + itoa(page.DataVersion.Counter) + `,"stateVersion":0,"timestamp":` + itoa(page.DataVersion.Timestamp) + "}"
	}
	if d := cmp.Diff(all.TopicConfigTable, got); d != "" {
		t.Fatal(d)
	}
	if a := r.call(protocol.GetAllTopicConfig, ext{"dataVersion": "{"}); a.Code != protocol.SystemError {
		t.Errorf("a bad version: %d", a.Code)
	}
}

func TestSystemTopics(t *testing.T) {
	r := start(t)
	got := string(r.success(protocol.GetSystemTopicListFromBroker, nil).Body)
	if !strings.HasPrefix(got, `{"topicList":["BenchmarkTest","CHECKPOINT_TOPIC","DefaultCluster",`) {
		t.Fatal(got)
	}
}

func TestSlavesTakeNoChanges(t *testing.T) {
	r := start(t, func(c *Config) { c.Identity.ID = 1 })
	const remark = "Can't modify topic or subscription group from slave broker, please execute it from master broker."
	r.call(protocol.UpdateAndCreateTopic, topicExt("T", nil)).is(protocol.SystemError, remark)
	r.call(protocol.DeleteTopicInBroker, ext{"topic": "T"}).is(protocol.SystemError, remark)
	r.call(protocol.UpdateAndCreateSubscriptionGroup, nil, text(`{"groupName":"G"}`)...).is(protocol.SystemError, remark)
	r.call(protocol.DeleteSubscriptionGroup, ext{"groupName": "G"}).is(protocol.SystemError, remark)
}
