// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// runtimeKeys are those of RocketMQ 5.5.0, beside those of delay levels and paths.
const runtimeKeys = `EndTransactionQueueSize EndTransactionThreadPoolQueueCapacity ackThreadPoolQueueCapacity
	ackThreadPoolQueueHeadWaitTimeMills ackThreadPoolQueueSize bootTimestamp brokerActive brokerVersionDesc commitLogDirCapacity
	commitLogDiskRatio commitLogMaxOffset commitLogMinOffset consumeQueueDiskRatio dispatchBehindBytes dispatchMaxBuffer
	earliestMessageTimeStamp getFoundTps getMessageEntireTimeMax getMissTps getTotalTps getTransferredTps
	litePullThreadPoolQueueCapacity litePullThreadPoolQueueHeadWaitTimeMills litePullThreadPoolQueueSize msgGetTotalTodayMorning
	msgGetTotalTodayNow msgGetTotalYesterdayMorning msgPutTotalTodayMorning msgPutTotalTodayNow msgPutTotalYesterdayMorning
	pageCacheLockTimeMills pullThreadPoolQueueCapacity pullThreadPoolQueueHeadWaitTimeMills pullThreadPoolQueueSize putLatency99
	putLatency999 putMessageAverageSize putMessageDistributeTime putMessageEntireTimeMax putMessageFailedTimes putMessageSizeTotal
	putMessageTimesTotal putTps queryThreadPoolQueueCapacity queryThreadPoolQueueHeadWaitTimeMills queryThreadPoolQueueSize
	remainHowManyDataToFlush remainTransientStoreBufferNumbs runtime sendThreadPoolQueueCapacity
	sendThreadPoolQueueHeadWaitTimeMills sendThreadPoolQueueSize startAcceptSendRequestTimeStamp timerCongestNum timerDequeueTps
	timerEnqueueTps timerOffsetBehind timerReadBehind`

func TestRuntimeInfo(t *testing.T) {
	r := start(t)
	topic := r.topic()
	r.fill(topic, 3, "")
	r.send(topic, "later", props("DELAY=3"))
	r.readable(protocol.TopicSchedule, 2, 1)
	r.pull(topic, r.group(), 0, nil)
	var kv protocol.KVTable
	r.success(protocol.GetBrokerRuntimeInfo, nil).decode(&kv)
	var keys []string
	for k := range kv.Table {
		if !strings.Contains(k, "/") && !strings.HasPrefix(k, "scheduleMessageOffset_") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	if d := cmp.Diff(strings.Fields(runtimeKeys), keys); d != "" {
		t.Error(d)
	}
	for key, want := range map[string]string{
		"scheduleMessageOffset_3": "0,1", "putMessageTimesTotal": "4", "msgPutTotalTodayNow": "3", "msgGetTotalTodayNow": "3",
		"brokerActive": "true", "brokerVersionDesc": "V5_5_0", "putMessageFailedTimes": "0", "sendThreadPoolQueueCapacity": "10000",
	} {
		if kv.Table[key] != want {
			t.Errorf("%s is %q, want %q", key, kv.Table[key], want)
		}
	}
	if kv.Table["scheduleMessageOffset_1"] != "" {
		t.Error("a level that was never used is shown")
	}
	for _, key := range []string{"putTps", "getFoundTps", "getMissTps", "getTotalTps", "getTransferredTps"} {
		if n := len(strings.Split(kv.Table[key], " ")); n != 3 {
			t.Errorf("%s is %q", key, kv.Table[key])
		}
	}
}

func TestRuntimeTexts(t *testing.T) {
	if got := runtimeText(26*time.Hour + 3*time.Minute + 4*time.Second); got != "[ 1 days, 2 hours, 3 minutes, 4 seconds ]" {
		t.Error(got)
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1229: "1.2 KiB", 1 << 20: "1.0 MiB", 270582939648: "252.0 GiB", 1<<63 - 1: "8.0 EiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	info := &store.Info{PutTimes: [13]int64{90, 9, 0, 1}}
	if p, q := percentile(info, 0.99), percentile(info, 0.999); p != "10.00" || q != "100.00" {
		t.Errorf("percentiles %s, %s", p, q)
	}
	if p := percentile(new(store.Info), 0.99); p != "0.00" {
		t.Errorf("without a put %s", p)
	}
}
