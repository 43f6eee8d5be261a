// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestGroupSettings(t *testing.T) {
	r := start(t)
	g := name("G")
	r.call(protocol.UpdateAndCreateSubscriptionGroup, nil, text(`{"groupName":"`+g+`","retryMaxTimes":3}`)...).is(protocol.Success, "")
	got := string(r.success(protocol.GetSubscriptionGroupConfig, ext{"group": g}).Body)
	want := `{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,` +
		`"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"` + g + `","groupRetryPolicy":{"type":"CUSTOMIZED"},"groupSysFlag":0,` +
		`"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":3,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}`
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	h := name("G")
	r.call(protocol.UpdateAndCreateSubscriptionGroupList, nil, text(`{"groupConfigList":[{"groupName":"`+g+`"},{"groupName":"`+h+`"}]}`)...).is(protocol.Success, "")
	if r.groups.Get(g).RetryMaxTimes != 16 || r.groups.Get(h) == nil {
		t.Fatal("the list was not taken")
	}
	r.call(protocol.UpdateAndCreateSubscriptionGroupList, nil, text(`{}`)...).is(protocol.Success, "")
}

func TestGroupNames(t *testing.T) {
	r := start(t)
	create := func(n string) answer {
		return r.call(protocol.UpdateAndCreateSubscriptionGroup, nil, text(`{"groupName":"`+n+`"}`)...)
	}
	create("a b").is(protocol.InvalidParameter, "The specified group: a b, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$")
	create("").is(protocol.InvalidParameter, "The specified group is blank.")
	create(strings.Repeat("g", 119)).is(protocol.Success, "")
	create(strings.Repeat("g", 120)).is(protocol.Success, "")
	create("TOOLS_CONSUMER").is(protocol.Success, "")
	for _, n := range []int{121, 256} {
		if a := create(strings.Repeat("g", n)); a.Code != protocol.InvalidParameter {
			t.Errorf("%d characters: %d", n, a.Code)
		}
	}
	for _, body := range []string{"", "{", "7"} {
		if a := r.call(protocol.UpdateAndCreateSubscriptionGroup, nil, text(body)...); a.Code == protocol.Success {
			t.Errorf("body %q was taken", body)
		}
	}
}

// Looking at a group is not using it.
func TestLookingCreatesNoGroup(t *testing.T) {
	r := start(t)
	g := name("G")
	r.call(protocol.GetSubscriptionGroupConfig, ext{"group": g}).is(protocol.SubscriptionGroupNotExist, "No group in this broker")
	r.success(protocol.GetConsumeStats, ext{"consumerGroup": g})
	r.call(protocol.QueryConsumerOffset, ext{"consumerGroup": g, "topic": "T", "queueId": 0})
	r.call(protocol.UpdateConsumerOffset, ext{"consumerGroup": g, "topic": "T", "queueId": 0, "commitOffset": 1})
	if r.groups.Get(g) != nil {
		t.Fatal("created")
	}
}

func TestDeleteGroup(t *testing.T) {
	for _, c := range []struct {
		situation string
		fields    ext
		stays     bool
	}{
		{"offsets stay", nil, true},
		{"offsets stay when told", ext{"cleanOffset": false}, true},
		{"with offsets", ext{"cleanOffset": true}, false},
		{"with offsets, as 4.x says it", ext{"removeOffset": true}, false},
	} {
		t.Run(c.situation, func(t *testing.T) {
			r := start(t)
			g, topic := r.group(), r.topic()
			r.offsets.Commit(topic, g, 0, 5)
			r.join(r.dial(nil), "client", g, protocol.Clustering)
			e := ext{"groupName": g}
			for k, v := range c.fields {
				e[k] = v
			}
			r.call(protocol.DeleteSubscriptionGroup, e).is(protocol.Success, "")
			if r.groups.Get(g) != nil {
				t.Error("it is still there, or again")
			}
			if _, ok := r.offsets.Query(topic, g, 0); ok != c.stays {
				t.Errorf("offsets there: %v", ok)
			}
			if r.topics.Get("%RETRY%"+g) == nil {
				t.Error("its retry topic is gone")
			}
			r.call(protocol.DeleteSubscriptionGroup, e).is(protocol.Success, "")
		})
	}
}

func TestAllGroups(t *testing.T) {
	r := start(t)
	g := r.group()
	r.call(protocol.UpdateAndGetGroupForbidden, ext{"group": g, "topic": "T", "readable": false})
	var all, page protocol.SubscriptionGroupWrapper
	a := r.success(protocol.GetAllSubscriptionGroupConfig, nil)
	a.decode(&all)
	if a.ext("totalGroupNum") != itoa(int64(r.groups.Len())) || all.SubscriptionGroupTable[g] == nil || all.ForbiddenTable[g]["T"] != 4 {
		t.Fatalf("%s groups: %s", a.ext("totalGroupNum"), a.Body)
	}
	r.success(protocol.GetAllSubscriptionGroupConfig, ext{"groupSeq": 0, "maxGroupNum": 3}).decode(&page)
	if len(page.SubscriptionGroupTable) != 3 {
		t.Fatalf("a page of %d", len(page.SubscriptionGroupTable))
	}
}

func TestForbidden(t *testing.T) {
	r := start(t)
	g, topic := r.group(), r.topic()
	ask := func(readable any, want string) {
		t.Helper()
		got := string(r.success(protocol.UpdateAndGetGroupForbidden, ext{"group": g, "topic": topic, "readable": readable}).Body)
		if got != `{"group":"`+g+`","readable":`+want+`,"topic":"`+topic+`"}` {
			t.Fatal(got)
		}
	}
	ask(nil, "true")
	ask(false, "false")
	ask(nil, "false")
	c := r.dial(nil)
	r.join(c, "client", g, protocol.Clustering, subscription(t, topic, "*", 1))
	if a := r.pull(topic, g, 0, ext{"sysFlag": 0}); a.Code != protocol.NoPermission {
		t.Fatalf("pull: %d %s", a.Code, a.Remark)
	}
	ask(true, "true")
	if a := r.pull(topic, g, 0, ext{"sysFlag": 0}); a.Code != protocol.PullNotFound {
		t.Fatalf("pull: %d %s", a.Code, a.Remark)
	}
}
